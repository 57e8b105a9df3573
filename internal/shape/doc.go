// Package shape finds texts that differ only in what varies: numbers, ids, addresses, times, quoted values. The shape
// of a text has a placeholder in place of each.
package shape
