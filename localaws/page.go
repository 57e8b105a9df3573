package localaws

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
)

const (
	defaultPage = 1000   // elements of a page, unless the request says otherwise
	maxPage     = 10_000 // elements of a page at most
)

// listPage is a page of one of the server's own lists, by the names of its fields.
type listPage map[string]any

// before adds where the next page begins; "": there is none.
func (p listPage) before(next string) listPage {
	if next != "" {
		p["next"] = next
	}
	return p
}

// pageSize returns the number of elements of a page. It answers an invalid number itself; then ok is false.
func pageSize(w http.ResponseWriter, r *http.Request) (n int, ok bool) {
	text := r.FormValue("limit")
	if text == "" {
		return defaultPage, true
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPage {
		refuse(w, http.StatusBadRequest, "limit=%q is not a number between 1 and %d", text, maxPage)
		return 0, false
	}
	return n, true
}

// pageOf returns a page of a list that is sorted by name: what comes behind the parameter after.
func pageOf[T any](
	w http.ResponseWriter, r *http.Request, all []T, name func(T) string,
) (page []T, next string, ok bool) {
	n, ok := pageSize(w, r)
	if !ok {
		return nil, "", false
	}
	if after := r.FormValue("after"); after != "" {
		i, found := slices.BinarySearchFunc(all, after, func(e T, a string) int { return cmp.Compare(name(e), a) })
		if found {
			i++
		}
		all = all[i:]
	}
	if len(all) > n {
		return all[:n], name(all[n-1]), true
	}
	return all, "", true
}

// pageAt returns a page of a list without names: what comes behind as many elements as the parameter after says.
func pageAt[T any](w http.ResponseWriter, r *http.Request, all []T) (page []T, next string, ok bool) {
	n, ok := pageSize(w, r)
	if !ok {
		return nil, "", false
	}
	from := 0
	if text := r.FormValue("after"); text != "" {
		var err error
		if from, err = strconv.Atoi(text); err != nil || from < 0 {
			refuse(w, http.StatusBadRequest, "after=%q is not the field next of a page", text)
			return nil, "", false
		}
	}
	from = min(from, len(all))
	if end := from + n; end < len(all) {
		return all[from:end], strconv.Itoa(end), true
	}
	return all[from:], "", true
}
