package s3

import (
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// The parts of S3 that are kept and shown, and do not act.
const (
	keptACL        = "access control lists"
	keptCORS       = "cross-origin resource sharing"
	keptLogging    = "logging"
	keptTransition = "transitions of a lifecycle"
	keptWebsite    = "website hosting"
)

// keep stores a configuration that does not act, and says so once a part.
func (s *Service) keep(b *bucket.Bucket, part string, alter func(*bucket.Settings)) error {
	if err := s.configure(b, alter); err != nil {
		return err
	}
	s.inert(b, part)
	return nil
}

// inert says once that a part does not act.
func (s *Service) inert(b *bucket.Bucket, part string) {
	if _, told := s.told.LoadOrStore(part, true); !told {
		s.log.Warn("s3: a configuration is kept and shown, and does not act", "part", part, "bucket", b.Name())
	}
}
