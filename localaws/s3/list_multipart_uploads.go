package s3

import (
	"context"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// ListMultipartUploadsInput is the input of ListMultipartUploads.
type ListMultipartUploadsInput struct {
	Bucket         string `rest:"bucket"`
	Delimiter      string `rest:"query,delimiter"`
	EncodingType   string `rest:"query,encoding-type"`
	KeyMarker      string `rest:"query,key-marker"`
	MaxUploads     *int   `rest:"query,max-uploads"`
	Prefix         string `rest:"query,prefix"`
	UploadIDMarker string `rest:"query,upload-id-marker"`
}

// ListMultipartUploadsOutput is the output of ListMultipartUploads.
type ListMultipartUploadsOutput struct {
	Bucket             string
	KeyMarker          *string
	UploadIDMarker     *string `xml:"UploadIdMarker"`
	NextKeyMarker      *string
	NextUploadIDMarker *string `xml:"NextUploadIdMarker"`
	Prefix             *string
	Delimiter          *string
	EncodingType       *string
	MaxUploads         int
	IsTruncated        bool
	Upload             []ListedUpload
	CommonPrefixes     []CommonPrefix
}

// ListedUpload is an upload in a list.
type ListedUpload struct {
	Key               string
	UploadID          string `xml:"UploadId"`
	Initiated         time.Time
	StorageClass      string
	Owner             *Owner
	Initiator         *Initiator
	ChecksumAlgorithm *string
	ChecksumType      *string
}

func (s *Service) listMultipartUploads(
	_ context.Context, c *rest.Call, in *ListMultipartUploadsInput,
) (*ListMultipartUploadsOutput, error) {
	b, e, limit, err := s.listing(c, in.Bucket, in.EncodingType, in.MaxUploads, "max-uploads")
	if err != nil {
		return nil, err
	}
	out := &ListMultipartUploadsOutput{
		Bucket: in.Bucket, KeyMarker: e.pointer(in.KeyMarker), UploadIDMarker: &in.UploadIDMarker,
		Prefix: e.pointer(in.Prefix), EncodingType: e.named(), MaxUploads: limit,
	}
	out.Delimiter = e.optional(in.Delimiter)
	fillUploads(out, in, b, e)
	return out, nil
}

// behindMarker returns the uploads with the prefix that are behind the markers.
func behindMarker(all []*bucket.Upload, in *ListMultipartUploadsInput) []*bucket.Upload {
	var rest []*bucket.Upload
	seen := in.UploadIDMarker == ""
	for _, u := range all {
		later := u.Key > in.KeyMarker || u.Key == in.KeyMarker && in.UploadIDMarker != "" && seen
		if u.Key == in.KeyMarker && u.ID == in.UploadIDMarker {
			seen = true
		}
		if in.KeyMarker == "" || later {
			rest = append(rest, u)
		}
	}
	return rest
}

func fillUploads(out *ListMultipartUploadsOutput, in *ListMultipartUploadsInput, b *bucket.Bucket, e encoder) {
	last, lastID, group := "", "", ""
	for _, u := range behindMarker(b.Uploads(), in) {
		if !strings.HasPrefix(u.Key, in.Prefix) || group != "" && strings.HasPrefix(u.Key, group) {
			continue
		}
		if len(out.Upload)+len(out.CommonPrefixes) == out.MaxUploads {
			out.IsTruncated = out.MaxUploads > 0
			out.NextKeyMarker, out.NextUploadIDMarker = e.pointer(last), &lastID
			return
		}
		if in.Delimiter != "" {
			if head, _, ok := strings.Cut(u.Key[len(in.Prefix):], in.Delimiter); ok {
				group = in.Prefix + head + in.Delimiter
				last, lastID = group, ""
				if group != in.KeyMarker {
					out.CommonPrefixes = append(out.CommonPrefixes, CommonPrefix{e.text(group)})
				}
				continue
			}
		}
		listed := ListedUpload{
			Key: e.text(u.Key), UploadID: u.ID, Initiated: u.Initiated, StorageClass: u.StorageClass,
			Owner: owner(b.Account()), Initiator: initiator(b.Account()),
		}
		if u.Checksum.Algorithm != "" {
			listed.ChecksumAlgorithm, listed.ChecksumType = &u.Checksum.Algorithm, &u.Checksum.Type
		}
		out.Upload = append(out.Upload, listed)
		last, lastID = u.Key, u.ID
	}
}
