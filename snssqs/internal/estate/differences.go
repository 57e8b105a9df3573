package estate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// ended reports whether a resource cannot be changed, so that nothing that stands on it is compared.
func ended(differ []driver.Difference) bool {
	return slices.ContainsFunc(differ, func(d driver.Difference) bool {
		return d.Kind == driver.DiffersForeign || d.Kind == driver.DiffersBeyondChange
	})
}

// notMade is the difference of a resource without Godwit's tag.
func notMade(d driver.Difference) driver.Difference {
	d.Kind = driver.DiffersForeign
	d.Note = fmt.Sprintf("it does not have the tag %s=%s, so Godwit has not created it and does not change it", tagManaged,
		managedByGodwit)
	return d
}

// otherOrder is the difference of a resource that exists with the other order.
func otherOrder(d driver.Difference) driver.Difference {
	d.Kind, d.To = driver.DiffersBeyondChange, d.Name
	d.From = strings.TrimSuffix(d.Name, fifoSuffix)
	if d.From == d.Name {
		d.From += fifoSuffix
	}
	d.Attribute = "Ordered"
	d.Risk = "messages that are sent while both exist can overtake each other"
	d.Steps = []string{
		"stop the producers of " + d.Channel.String(), "wait until its consumers have handled what waits",
		"delete it with godwit rm, and its dead letters when nothing in them is needed",
		"apply the declaration, and start consumers and producers with the new order",
	}
	return d
}

// compared returns the attributes that differ.
func compared(d driver.Difference, is, wanted map[string]string, same func(name, is, wanted string) bool) (
	all []driver.Difference,
) {
	d.Kind, d.Note = driver.DiffersValue, ""
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if !same(name, is[name], wanted[name]) {
			d.Attribute, d.From, d.To = name, is[name], wanted[name]
			d.Risk = riskOf(name, is[name], wanted[name])
			switch d.Note = ""; name {
			case "FilterPolicy":
				d.Note = slowly
			case string(types.QueueAttributeNameMessageRetentionPeriod):
				d.Note = retainedSlowly
			}
			all = append(all, d)
		}
	}
	return all
}

// comparedTags returns the tags that differ. Tags of others are left alone.
func comparedTags(d driver.Difference, is, wanted map[string]string) (all []driver.Difference) {
	d.Kind, d.Note = driver.DiffersValue, ""
	for _, name := range slices.Sorted(maps.Keys(differingTags(is, wanted))) {
		d.Attribute, d.From, d.To = "tag "+name, is[name], wanted[name]
		all = append(all, d)
	}
	return all
}

// riskOf says what a change of an attribute loses, or allows.
func riskOf(name, is, wanted string) string {
	switch name {
	case string(types.QueueAttributeNameMessageRetentionPeriod):
		if a, b := wire.Number(is), wire.Number(wanted); b < a {
			return fmt.Sprintf("messages that are older than %s seconds are deleted", wanted)
		}
	case string(types.QueueAttributeNameMaximumMessageSize):
		if a, b := wire.Number(is), wire.Number(wanted); b < a {
			return fmt.Sprintf("messages of more than %s bytes are refused", wanted)
		}
	case string(types.QueueAttributeNameKmsMasterKeyId):
		return "what waits stays encrypted with its key: consumers need both keys, producers and SNS " +
			"permission for the new one"
	case string(types.QueueAttributeNamePolicy):
		if widens(is, wanted) {
			return "the policy lets in more than before"
		}
	case string(types.QueueAttributeNameRedriveAllowPolicy):
		if is != "" && redriveAllowed(is) < redriveAllowed(wanted) {
			return "more queues than before may have their dead letters here"
		}
	case string(types.QueueAttributeNameRedrivePolicy):
		a, _ := parseRedrive(is)
		b, ok := parseRedrive(wanted)
		if ok && a.MaxReceiveCount > b.MaxReceiveCount {
			return "SQS moves messages that were received more often to the dead letters, without a reason"
		}
	}
	return ""
}

// widens reports whether a policy has a statement that allows something and that another policy does not have.
func widens(is, wanted string) bool {
	before := allowing(is)
	return slices.ContainsFunc(allowing(wanted), func(s any) bool {
		return !slices.ContainsFunc(before, func(b any) bool { return reflect.DeepEqual(b, s) })
	})
}

// allowing are the statements of a policy that allow something.
func allowing(policy string) []any {
	var doc map[string]any
	_ = json.Unmarshal([]byte(policy), &doc) // a policy that cannot be read allows nothing
	return slices.DeleteFunc(statementsOf(doc), func(s any) bool {
		one, _ := s.(map[string]any)
		return one["Effect"] != "Allow"
	})
}

// redriveAllowed is how many queues may name a queue as that of their dead letters: none, listed ones, or all.
func redriveAllowed(policy string) int {
	var doc struct {
		Permission string   `json:"redrivePermission"`
		Queues     []string `json:"sourceQueueArns"`
	}
	_ = json.Unmarshal([]byte(policy), &doc) // a policy that cannot be read was never set
	switch doc.Permission {
	case "denyAll":
		return 0
	case "byQueue":
		return len(doc.Queues)
	}
	return math.MaxInt
}

// errorOf is the differences of a specification that may not be provisioned as an error; nil: there are none.
func errorOf(s driver.ChannelSpec, differ []driver.Difference) error {
	var errs []error
	class := driver.Permanent
	by := map[string][]error{}
	for _, d := range differ {
		what := d.Resource + " " + d.Name
		if d.Resource == aDeadQueue {
			what = "queue " + d.Name
		}
		if d.Kind == driver.DiffersForeign {
			class = driver.NotFound // Verify meets only a mapped topic that does not exist
			errs = append(errs, fmt.Errorf("channel %s: %s: %s", s.Channel, what, d.Note))
			continue
		}
		if d.Kind == driver.DiffersMissing {
			class = driver.NotFound
			if d.Resource == aSubscription {
				what = "the subscription of " + d.Name
			}
			errs = append(errs, fmt.Errorf("channel %s: %s does not exist, and Provision is set to verify only: create "+
				"it, or let Godwit provision it", s.Channel, what))
			continue
		}
		by[what] = append(by[what], fmt.Errorf("%s is %q and should be %q", d.Attribute, d.From, d.To))
	}
	for _, what := range slices.Sorted(maps.Keys(by)) {
		errs = append(errs, fmt.Errorf("channel %s: %s differs, and this only verifies: %w", s.Channel, what,
			errors.Join(by[what]...)))
	}
	if len(errs) == 0 {
		return nil
	}
	return &driver.Error{Class: class, Err: errors.Join(errs...)}
}
