"""Pictures of every kind of report, on paper of three widths in both colour schemes, by `make
pictures`.
"""
