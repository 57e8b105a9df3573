// Command typed sends values of two types on one channel, and handles each by its type. A message of an unknown type
// becomes a dead letter.
package main
