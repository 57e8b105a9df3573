// Command quickstart sends one order and handles it. It needs no installation: the backend is an AWS inside the
// program.
package main
