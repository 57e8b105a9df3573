package kafkalocal

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// refuser checks each request to a cluster, in the cluster's own order, one at a time. If a real broker refuses the
// whole request, it answers the request itself. For a part of a request it sets a fault of kfake that matches only that
// part of that request, so that kfake handles the rest.
type refuser struct {
	*kfake.Cluster
	config map[string]string // the broker's configs that were set
	epochs *epochs
	newer  map[string]bool // groups of the newer protocols that were seen
}

// answer is the result of a control function of kfake; the zero answer lets the request through.
type answer struct {
	resp    kmsg.Response
	err     error // closes the connection
	handled bool
}

func answered(resp kmsg.Response) answer { return answer{resp: resp, handled: true} }
func hangUp(err error) answer            { return answer{err: err, handled: true} }

func refuse(c *kfake.Cluster, config map[string]string, e *epochs) {
	r := &refuser{Cluster: c, config: config, epochs: e, newer: map[string]bool{}}
	on(r, r.offsetCommit)
	on(r, r.txnOffsetCommit)
	on(r, r.createTopics)
	on(r, r.createPartitions)
	on(r, r.metadata)
	on(r, r.alterConfigs)
	on(r, r.incrementalAlterConfigs)
	on(r, r.produce)
	on(r, r.endTxn)
	on(r, r.joinGroup)
	on(r, r.consumerGroupHeartbeat)
	on(r, r.shareGroupHeartbeat)
	on(r, r.describeGroups)
	on(r, r.listGroups)
}

// on registers a permanent check of all requests of one kind.
func on[R kmsg.Request](r *refuser, look func(R) answer) {
	var kind R
	r.ControlKey(kind.Key(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		a := look(req.(R))
		r.KeepControl() // otherwise kfake drops the function after its first answer
		return a.resp, a.err, a.handled
	})
}

// fail makes kfake answer a part of this request with err.
func (r *refuser) fail(req kmsg.Request, err *kerr.Error, part kfake.Fault) {
	part.Keys = []kmsg.Key{kmsg.Key(req.Key())}
	part.Err = err
	part.When = func(other kmsg.Request) bool { return other == req }
	r.Fault(part)
}
