"""Reports as pages, plots and regret certificates."""
