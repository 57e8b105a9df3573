package s3

import (
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// GetObjectAttributesInput is the input of GetObjectAttributes.
type GetObjectAttributesInput struct {
	Bucket           string `rest:"bucket"`
	Key              string `rest:"key"`
	MaxParts         *int   `rest:"header,x-amz-max-parts"`
	ObjectAttributes string `rest:"header,x-amz-object-attributes"`
	PartNumberMarker *int   `rest:"header,x-amz-part-number-marker"`
	CustomerKey
	VersionID string `rest:"query,versionId"`
}

// GetObjectAttributesOutput is the output of GetObjectAttributes. Attributes that were not asked for are nil.
type GetObjectAttributesOutput struct {
	LastModified time.Time `rest:"header,Last-Modified"`
	ETag         *string
	Checksum     *AttributeChecksum
	ObjectParts  *AttributeParts
	StorageClass *string
	ObjectSize   *int64
}

// AttributeChecksum is an object's checksum.
type AttributeChecksum struct {
	ChecksumElements
	ChecksumType *string
}

// AttributeParts are the parts of an object that was uploaded in parts. They are listed only if they have checksums of
// their own.
type AttributeParts struct {
	TotalPartsCount      int `xml:"PartsCount"`
	PartNumberMarker     *int
	NextPartNumberMarker *int
	MaxParts             *int
	IsTruncated          *bool
	Part                 []AttributePart
}

// AttributePart is one part of an object.
type AttributePart struct {
	PartNumber int
	Size       int64
	ChecksumElements
}

// getObjectAttributes shows the ETag without quotes, and a checksum of parts without their number, unlike all other
// actions. Parts are listed only if they have checksums of their own (AWS's API reference, GetObjectAttributes).
func getObjectAttributes(_ call, b *bucket.Bucket, in *GetObjectAttributesInput) (*GetObjectAttributesOutput, error) {
	wanted, err := in.wanted()
	if err != nil {
		return nil, err
	}
	o, err := object(b, in.Key, in.VersionID)
	if err != nil {
		return nil, err
	}
	if err := in.opens(o); err != nil {
		return nil, err
	}
	out := &GetObjectAttributesOutput{LastModified: o.Modified}
	for _, attribute := range wanted {
		switch attribute {
		case "ETag":
			out.ETag = &o.ETag // the only action that shows it without quotes
		case "Checksum":
			if o.Checksum.Value != "" {
				sum := o.Checksum
				sum.Value, _, _ = strings.Cut(sum.Value, "-") // the only answer without the number of parts
				out.Checksum = &AttributeChecksum{checksumElements(sum), &sum.Type}
			}
		case "ObjectParts":
			if out.ObjectParts, err = in.parts(o); err != nil {
				return nil, err
			}
		case "StorageClass":
			out.StorageClass = &o.StorageClass
		case "ObjectSize":
			size := o.Size()
			out.ObjectSize = &size
		}
	}
	return out, nil
}

// wanted returns the attributes that are asked for.
func (in *GetObjectAttributesInput) wanted() (names []string, err error) {
	const header = "x-amz-object-attributes"
	known := []string{"ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"}
	for name := range strings.SplitSeq(in.ObjectAttributes, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			return nil, rest.InvalidArgument("Invalid attribute name specified.", header, name)
		}
		names = append(names, name)
	}
	return names, nil
}

// parts returns a page of an object's parts; nil: it was put as a whole.
func (in *GetObjectAttributesInput) parts(o *bucket.Object) (*AttributeParts, error) {
	if len(o.Parts) == 0 {
		return nil, nil
	}
	all := &AttributeParts{TotalPartsCount: len(o.Parts)}
	limit, err := pageSize(in.MaxParts, "max-parts")
	if err != nil {
		return nil, err
	}
	if o.Checksum.Type != composite {
		return all, nil
	}
	marker, last, more := 0, 0, false
	if in.PartNumberMarker != nil {
		marker = *in.PartNumberMarker
	}
	for _, p := range o.Parts {
		switch {
		case p.Number <= marker:
		case len(all.Part) == limit:
			more = true
		default:
			all.Part = append(all.Part, AttributePart{p.Number, p.Size, checksumElements(p.Checksum)})
			last = p.Number
		}
	}
	all.PartNumberMarker, all.NextPartNumberMarker, all.MaxParts, all.IsTruncated = &marker, &last, &limit, &more
	return all, nil
}
