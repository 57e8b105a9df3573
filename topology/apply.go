package topology

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// ApplyOptions are the options of Apply.
type ApplyOptions struct {
	// Planned is a plan that was made before and looked at. Set it to be refused when what exists has changed since.
	Planned *Changes
	// Progress is called after each step. Set it to show what happens.
	Progress func(Step)
}

// ErrChanged is the error of an Apply whose plan is not what is to be done any more.
var ErrChanged = errors.New("what exists has changed since the plan was made: plan again")

// Applied is what an Apply has done and left.
type Applied struct {
	Done []Step `json:"done"`
	// Left are steps that Apply does not take: of kinds replace, orphan and foreign, and all others of a channel that
	// has one of kind replace or foreign.
	Left []Step `json:"left"`
}

// Apply makes what exists as declared: exchanges first, then queues with their dead letters and subscriptions. It is
// idempotent, and several at once end in the same state. It deletes nothing. An error leaves what was done before it,
// and the next Apply goes on from there; what is in Done is done, and the channel of the error may be done in part.
func Apply(ctx context.Context, b godwit.Backend, s *Spec, o *ApplyOptions) (done Applied, err error) {
	var opts ApplyOptions
	if o != nil {
		opts = *o
	}
	changes, specs, err := plan(ctx, b, s)
	if err != nil {
		return done, err
	}
	if opts.Planned != nil && !changes.Equal(opts.Planned) {
		return done, fmt.Errorf("topology: apply: %w", ErrChanged)
	}
	provisioner, ok := b.(driver.Provisioner)
	if !ok {
		return done, errCannotPlan
	}
	for _, step := range changes.Steps {
		if !changes.appliable(step.Channel) || step.Kind == StepOrphan {
			done.Left = append(done.Left, step)
		}
	}
	for _, spec := range specs {
		channel := spec.Channel.String()
		steps := slices.DeleteFunc(slices.Clone(changes.Steps), func(s Step) bool {
			return s.Channel != channel || s.Kind == StepOrphan
		})
		if len(steps) == 0 || !changes.appliable(channel) {
			continue
		}
		if err := provisioner.Ensure(ctx, spec); err != nil {
			return done, fmt.Errorf("topology: apply %s: %w", channel, err)
		}
		for _, step := range steps {
			done.Done = append(done.Done, step)
			if opts.Progress != nil {
				opts.Progress(step)
			}
		}
	}
	return done, nil
}

// appliable reports whether a channel has only steps that Apply takes.
func (c *Changes) appliable(channel string) bool {
	return !slices.ContainsFunc(c.Steps, func(s Step) bool {
		return s.Channel == channel && (s.Kind == StepReplace || s.Kind == StepForeign)
	})
}

// Adopt sets the tag topology of what is declared and exists, so that programs do not change it any more, and changes
// nothing else: the next plan says how it differs. A resource of another topology is refused, and so is one that Godwit
// has not created; nothing is tagged then. With dry, it only returns what it would tag. The result may be done in part
// when there is an error; Adopt can be repeated.
func Adopt(ctx context.Context, b godwit.Backend, s *Spec, dry bool) (adopted []Step, err error) {
	do := driver.OperationsOf(b)
	if do.Catalog == nil || do.Tag == nil {
		return nil, errors.New("topology: adopt: the resources of this backend have no tags")
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	found, err := do.Catalog(ctx)
	if err != nil {
		return nil, fmt.Errorf("topology: adopt: %w", err)
	}
	var refused []error
	var channels []driver.Channel
	for _, c := range found {
		other := c.Tags[driver.TagTopology]
		switch {
		case c.Mapped || !s.declares(c.Channel) || other == s.name():
		case other != "":
			refused = append(refused, fmt.Errorf("%s is declared by topology %s: remove it there, or here", c.Address,
				other))
		default:
			channels = append(channels, c.Channel)
			adopted = append(adopted, Step{
				Kind: StepChange, Channel: c.Channel.String(), Resource: c.Channel.Role().String(), Name: c.Address,
				Attribute: "tag " + driver.TagTopology, To: s.name(),
			})
		}
	}
	if err := errors.Join(refused...); err != nil {
		return nil, fmt.Errorf("topology: adopt: %w", err)
	}
	if dry {
		return adopted, nil
	}
	for i, ch := range channels {
		if err := do.Tag(ctx, ch, map[string]string{driver.TagTopology: s.name()}); err != nil {
			return adopted[:i], fmt.Errorf("topology: adopt %s: %w", ch, err)
		}
	}
	return adopted, nil
}
