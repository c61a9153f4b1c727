"""Side-by-side studies: arms, statistics, tables and plots."""
