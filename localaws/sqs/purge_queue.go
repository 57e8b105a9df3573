package sqs

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// purgeQueue also deletes messages in flight. A second purge within 60 s is PurgeQueueInProgress, with status 403, on
// AWS; here only with RealisticWaits (recorded on AWS).
func (s *Service) purgeQueue(_ context.Context, c *wire.Call, in *QueueInput) (*Empty, error) {
	q, bad := s.byURL(c, in.QueueURL)
	if bad != nil {
		return nil, bad
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := s.opts.Clock.Elapsed()
	if s.opts.RealisticWaits && q.everPurged && now < q.purged+realisticWait {
		err := refusal("PurgeQueueInProgress", "Only one PurgeQueue operation on %s is allowed every 60 seconds.",
			q.name)
		err.Status = 403
		return nil, err
	}
	q.purged, q.everPurged = now, true
	q.model.Purge()
	return &Empty{}, nil
}
