package s3

import (
	"context"
	"errors"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// deleteBucket refuses a bucket with objects (BucketNotEmpty). The name is then free for every account, on AWS after a
// while (AWS's user guide, deleting a bucket).
func (s *Service) deleteBucket(_ context.Context, c *rest.Call, in *BucketInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	if err := s.store.Delete(in.Bucket); errors.Is(err, bucket.ErrNotEmpty) {
		return nil, rest.Refuse(409, "BucketNotEmpty", "The bucket you tried to delete is not empty", "BucketName",
			in.Bucket)
	} else if err != nil {
		return nil, modelError(err, b, "", "", bucket.Condition{})
	}
	return noContent(), nil
}
