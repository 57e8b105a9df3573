// Command deadletters lists the messages that a consumer could not handle, and sends them again: dead letters are a
// channel like any other, and each has the reason of its rejection.
package main
