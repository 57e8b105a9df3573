// Package pace says how many workers a consumer should have, so that deliveries start before they are too old. Its
// nouns: a [Pacer] is ticked with a [Sample] of what was seen since the last tick and answers with a size between a
// floor and a ceiling; a gauge is what one size achieved, by which the next larger one is judged.
//
// It grows while work waits and its age nears the tolerance, at most twofold a tick; it shrinks by a quarter after
// several calm ticks. The bands lie far apart, so that a steady load ends at a steady size. A growth that brings more
// failures, or longer handlers instead of more of them, is taken back, and not tried again for a pause that doubles.
//
// Nothing here reads a clock, waits or locks.
package pace
