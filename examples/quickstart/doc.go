// Command quickstart sends one order and handles it. It needs nothing installed: the backend is an AWS inside the program.
package main
