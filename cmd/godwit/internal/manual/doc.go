// Package manual writes the manual pages of a command: a [Page] is the text of a command and its flags, in the form
// that man reads.
package manual
