package snssqs

import (
	"encoding/json"
	"fmt"
)

// pointed returns the reason to reject a message of Amazon's extended clients. Its body is in S3, and the received body
// is a pointer, which a handler must not take for the message. As for those clients, only the attribute decides. nil:
// the message is not a pointer.
func pointed(body string, attributes map[string]string) error {
	for _, name := range []string{payloadSizeAttribute, oldPayloadSizeAttribute} {
		if size, marked := attributes[name]; marked {
			return fmt.Errorf("the body (%s bytes) is at %s: attribute %s says that Amazon's extended client sent a "+
				"pointer, which Godwit does not read: receive this queue with an extended client, or send without one",
				size, pointsTo(body), name)
		}
	}
	return nil
}

// pointsTo returns the location of the object, for error texts.
func pointsTo(body string) string {
	var class string
	var at struct {
		Bucket string `json:"s3BucketName"`
		Key    string `json:"s3Key"`
	}
	if json.Unmarshal([]byte(body), &[]any{&class, &at}) != nil || at.Bucket == "" {
		return "an unknown location"
	}
	return "s3://" + at.Bucket + "/" + at.Key
}
