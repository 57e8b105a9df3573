package describe

import (
	"context"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/ops/processes"
)

// Audience is who consumes a queue, as far as somebody knows.
type Audience struct {
	// Told reports whether the service tells who receives. SQS does not.
	Told    bool
	Members []driver.Member
	// Asked reports whether processes were asked what they hold.
	Asked   bool
	Holders []Holder
}

// Holder is a consumer in a process that reports.
type Holder struct {
	Host string
	PID  int
	ops.ConsumerWork
}

// readAudience asks the service, and the processes that report.
func (c *Channel) readAudience(ctx context.Context, do driver.Operations, p *processes.Processes) {
	if do.Members != nil {
		members, err := do.Members(ctx, c.Channel)
		if err != nil {
			c.problem(err)
		}
		c.Audience.Told, c.Audience.Members = err == nil, members
	}
	if p == nil || p.None() {
		return
	}
	c.Audience.Asked = true
	reports := p.Ask(ctx)
	c.Problems = append(c.Problems, reports.Problems...)
	for _, r := range reports.All {
		for _, work := range r.Consumers {
			if work.Channel == c.Channel.String() {
				c.Audience.Holders = append(c.Audience.Holders, Holder{r.Host, r.PID, work})
			}
		}
	}
}
