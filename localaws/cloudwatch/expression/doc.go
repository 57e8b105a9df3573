// Package expression parses and evaluates CloudWatch's metric math.
//
// Its nouns: a [Series] is a list of times with values. A value is a number, a Series or a list of Series. An
// [Expression] is parsed once, and names the ids that it uses. An [Environment] has the values of ids.
//
// There are numbers, ids, lists in brackets, the operators + - * / ^, comparisons, AND and OR, and the functions that
// [Functions] lists. SEARCH, SELECT, anomaly detection and the functions on dates are not supported; an expression with
// one of them is an error that names it.
package expression
