// Command typed sends values of two types on one channel, and handles each by its type. What no handler knows ends as a
// dead letter.
package main
