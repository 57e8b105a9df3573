package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// deletePublicAccessBlock leaves nothing blocked, whereas a new bucket has everything blocked (AWS's user guide, since
// April 2023).
func (s *Service) deletePublicAccessBlock(_ context.Context, c *rest.Call, in *BucketInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	return noContent(), s.configure(b, func(set *bucket.Settings) { set.PublicAccess = nil })
}
