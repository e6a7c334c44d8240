"""What users write: TOML files with links and scenarios, their quantities, and the checks that name
file, line and key.
"""
