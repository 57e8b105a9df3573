// Package manual explains commands.
//
// Its nouns: the [Help] of a command fits a screen, a [Page] is what man reads, and the [Reference] is a page of the
// documentation. The last two have everything; the help leaves out rare flags, and of a flag's text what stands behind
// the first semicolon. A flag is in the group where it is defined: [What] a command works on, how, and [Where].
package manual
