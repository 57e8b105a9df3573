// Package boot runs what a folder has for the start of a server, in the order of the names: seeds, which are files
// ending in .json, and scripts, which are executable files. Anything else in the folder is an error, because it would
// be taken for a part of the start. A Start says what has run.
package boot
