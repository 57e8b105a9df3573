// Package expression parses and evaluates CloudWatch's metric math, and parses queries of Metrics Insights.
//
// Its nouns: a [Series] is a list of times with values. A value is a number, a Series or a list of Series. An
// [Expression] is parsed once, and names the ids that it uses. An [Environment] has the values of ids.
//
// There are numbers, ids, lists in brackets, the operators + - * / ^, comparisons, AND and OR, and the functions that
// [Functions] lists. SEARCH, anomaly detection and the functions on dates are not supported; an expression with one of
// them is an error that names it.
//
// A [Selection] is a query that begins with SELECT. It says which metrics it reads and how it groups and orders them;
// its caller reads them.
package expression
