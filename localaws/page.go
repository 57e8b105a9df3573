package localaws

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// page is the part of a list that a request to one of the server's own pages asks for: ?after=CURSOR&limit=N.
type page struct {
	after string // the cursor of the last element of the previous page; "": the first page
	limit int
}

const (
	usualPage   = 1_000  // elements of a page
	largestPage = 10_000 // so that an answer stays in the range of megabytes
)

// pageOf reads the parameters of a request.
func pageOf(r *http.Request) (page, error) {
	p := page{after: r.FormValue("after"), limit: usualPage}
	if text := r.FormValue("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > largestPage {
			return p, fmt.Errorf("limit=%q is not a number from 1 to %d", text, largestPage)
		}
		p.limit = n
	}
	return p, nil
}

// cut returns the elements of a page, and the cursor for the next one; "": this is the last. The list is in order of
// its cursors.
func cut[T any](p page, all []T, cursor func(*T) string) (some []T, next string) {
	some = []T{}
	for i := range all {
		at := cursor(&all[i])
		if p.after != "" && at <= p.after {
			continue
		}
		if len(some) == p.limit {
			return some, cursor(&some[len(some)-1])
		}
		some = append(some, all[i])
	}
	return some, ""
}

// lister returns the answer for a page of a list.
type lister func(s *Server, p page, r *http.Request) (map[string]any, error)

// paged answers with a page of a list.
func paged(s *Server, list lister) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p, err := pageOf(r)
		var answer map[string]any
		if err == nil {
			answer, err = list(s, p, r)
		}
		if errors.As(err, new(missing)) {
			refuse(w, http.StatusNotFound, "%v", err)
			return
		}
		if err != nil {
			refuse(w, http.StatusBadRequest, "%v", err)
			return
		}
		if answer["next"] == "" {
			delete(answer, "next")
		}
		respond(w, http.StatusOK, answer)
	}
}

// missing is the error for a list of what does not exist.
type missing struct{ kind, name string }

func (m missing) Error() string { return fmt.Sprintf("there is no %s %q", m.kind, m.name) }
