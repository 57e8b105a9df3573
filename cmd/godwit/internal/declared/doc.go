// Package declared reads files of declared channels for the command.
//
// Its nouns: a [File] is a declaration, or a plan of one that was written before. It says where the bodies of
// large messages are.
package declared
