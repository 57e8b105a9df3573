// Package wholefile replaces files in one step: a reader sees a file as it was before, or as it is after, and a crash
// leaves one of the two.
package wholefile
