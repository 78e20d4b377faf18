"""The paper's section 6 again: its data, its tables and its figures."""
