// Command deadletters looks at what a consumer could not handle, and sends it again: dead letters are a channel like
// any other, and each tells why it is there.
package main
