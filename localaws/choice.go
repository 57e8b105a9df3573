package localaws

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/wire"
)

// choice is the part of the places that a request to one of the server's own pages asks for: ?account= and ?region=. ""
// means all.
type choice struct{ account, region string }

// choice reads the parameters of a request. A server of a single region has everything in it, whatever is asked for.
func (p *places) choice(r *http.Request) (choice, error) {
	c := choice{account: r.FormValue("account"), region: r.FormValue("region")}
	if p.home.SingleRegion {
		c.region = ""
	}
	switch {
	case c.account != "" && !wire.IsAccount(c.account):
		return c, fmt.Errorf("account=%q is not twelve digits", c.account)
	case c.region != "" && !wire.IsRegion(c.region):
		return c, fmt.Errorf("region=%q is not of the form us-east-1", c.region)
	}
	return c, nil
}

func (c choice) has(at wire.Place) bool {
	return (c.account == "" || c.account == at.Account) && (c.region == "" || c.region == at.Region)
}

// chosen returns the services of the places that a request asks for.
func (p *places) chosen(r *http.Request) ([]*services, error) {
	c, err := p.choice(r)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(p.all(), func(in *services) bool { return !c.has(in.at) }), nil
}

// located is an element of a list, with its place.
type located[T any] struct {
	value T
	at    wire.Place
}

// everywhere returns the elements of a list in all places that a request asks for.
func everywhere[T any](p *places, r *http.Request, list func(*services) []T) ([]located[T], error) {
	chosen, err := p.chosen(r)
	var all []located[T]
	for _, in := range chosen {
		for _, v := range list(in) {
			all = append(all, located[T]{v, in.at})
		}
	}
	return all, err
}

// cutPlaces is the same as cut for elements of several places, in any order. They are listed by name, and those of one
// name by place.
func cutPlaces[T any](p page, all []located[T], name func(*T) string) (some []located[T], next string) {
	cursor := func(l *located[T]) string { return name(&l.value) + " " + l.at.Account + " " + l.at.Region }
	slices.SortFunc(all, func(a, b located[T]) int { return strings.Compare(cursor(&a), cursor(&b)) })
	return cut(p, all, cursor)
}

// queueOf returns the queue that a request names, by name or ARN. If the request does not select its place, the queue
// of the options' place is meant, or else the only one of this name.
func (p *places) queueOf(r *http.Request) (*sqs.Queue, error) {
	name := r.PathValue("name")
	chosen, err := p.chosen(r)
	if err != nil {
		return nil, err
	}
	var found []*sqs.Queue
	var arns []string
	for _, in := range chosen {
		q := in.sqs.Queue(name)
		if q != nil && in == p.main {
			return q, nil
		}
		if q != nil {
			found, arns = append(found, q), append(arns, q.ARN())
		}
	}
	switch len(found) {
	case 0:
		return nil, missing{"queue", name}
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("there are several queues %q: %s; choose one with ?account= and ?region=", name,
		strings.Join(arns, ", "))
}
