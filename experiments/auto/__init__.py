"""What `dwindle train` makes of data by itself, beside methods that search for their penalty."""
