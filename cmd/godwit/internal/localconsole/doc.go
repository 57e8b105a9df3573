// Package localconsole is the console of a server in this process, for `godwit local` and `godwit demo`. Its nouns: a
// [Console] serves the channels without a namespace at its root, and those of every other namespace of the server at an
// address of their own. The bar is what the console does with the server: send, advance, inject a fault, reset.
package localconsole
