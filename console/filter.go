package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/ops/describe"
)

// filterData is the filter of a queue that an exchange feeds.
type filterData struct {
	Words                  string // what it lets through
	Exact, Prefix, Exclude string // as the form has them
	Change                 string // where the form goes; "": the filter cannot be changed here
	Shut                   bool   // it let nothing through in the last hour
}

// filterOf returns the filter policy of a queue's subscription; "": it has none.
func filterOf(c *describe.Channel) string {
	if policy := c.Setting("subscription FilterPolicy"); policy != "{}" {
		return policy
	}
	return ""
}

// filterWords says what a filter policy lets through.
func filterWords(policy string) string {
	var doc map[string][]any
	if json.Unmarshal([]byte(policy), &doc) != nil || len(doc) != 1 {
		return policy
	}
	var words []string
	for _, values := range doc {
		for _, value := range values {
			switch v := value.(type) {
			case string:
				words = append(words, v)
			case map[string]any:
				if prefix, ok := v["prefix"].(string); ok && len(v) == 1 {
					words = append(words, prefix+"*")
				} else if but, ok := v["anything-but"].([]any); ok && len(v) == 1 {
					words = append(words, "all but "+strings.Trim(fmt.Sprint(but), "[]"))
				} else if exists, ok := v["exists"].(bool); ok && len(v) == 1 && !exists {
					words = append(words, "no key")
				} else {
					return policy
				}
			default:
				return policy
			}
		}
	}
	return strings.Join(words, ", ")
}

// readFilter reads the filter of a queue; nil: no exchange feeds it, or the service does not filter.
func readFilter(r *request, info *describe.Channel) (*filterData, error) {
	do := driver.OperationsOf(r.c.b)
	if info.Channel.Role() != driver.RoleQueue || info.Channel.Exchange == "" || do.Specs == nil ||
		!onAWS(info.Address) {
		return nil, nil //nolint:nilnil // there is none
	}
	specs, err := do.Specs(r.Context(), []driver.Channel{info.Channel})
	if err != nil {
		return nil, err
	}
	f, join := specs[0].Filter, func(all []string) string { return strings.Join(all, " ") }
	d := &filterData{Words: "every message", Exact: join(f.Exact), Prefix: join(f.Prefix), Exclude: join(f.Exclude)}
	if policy := filterOf(info); policy != "" {
		d.Words = filterWords(policy)
	}
	if _, ok := r.c.b.(driver.Provisioner); ok && !info.Mapped && r.may >= LevelAct {
		d.Change = r.c.url("channel", info.Channel.String(), "filter")
	}
	return d, nil
}

// filterAction changes the filter of a queue, and nothing else of it.
func filterAction(r *request) (string, error) {
	c, name := r.c, r.PathValue("name")
	found, err := ops.Find(r.Context(), c.b, name)
	if err != nil {
		return "", err
	}
	do := driver.OperationsOf(c.b)
	provisioner, ok := c.b.(driver.Provisioner)
	if !ok || do.Specs == nil || found.Channel.Exchange == "" || found.Mapped {
		return "", &problem{
			status: http.StatusBadRequest, title: "Its filter cannot be changed here",
			err: errors.New("only queues of an exchange have one, where the service filters and Godwit made the queue"),
		}
	}
	f := driver.Filter{
		Exact: strings.Fields(r.PostFormValue("exact")), Prefix: strings.Fields(r.PostFormValue("prefix")),
		Exclude: strings.Fields(r.PostFormValue("exclude")),
	}
	if len(f.Exclude) > 0 && len(f.Exact)+len(f.Prefix) > 0 {
		return "", bad("a filter names the keys that pass, or those that do not, but not both")
	}
	what := "every message passes"
	if !f.IsZero() {
		what = strings.TrimSpace(fmt.Sprintf("exact %q, prefix %q, exclude %q", f.Exact, f.Prefix, f.Exclude))
	}
	return c.url("channel", name) + "#filter", c.change(r, "change the filter of", name, what, func() error {
		specs, err := do.Specs(r.Context(), []driver.Channel{found.Channel})
		if err != nil {
			return err
		}
		specs[0].Filter = f
		defer c.estate.forget()
		return provisioner.Ensure(r.Context(), specs[0])
	})
}
