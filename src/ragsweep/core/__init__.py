"""What every room uses: errors, digests, plugins, the project folder, the terminal, untrusted files, chart style."""
