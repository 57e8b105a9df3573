package sqs

import (
	"encoding/base64"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// maxPage is the most queues on one page of a list.
const maxPage = 1000

// page returns the part of a sorted list of queues that a token and a page size select. Without a size there is no next
// token, as on AWS: it lists the first thousand queues.
func page(all []*Queue, token string, size *int32) (some []*Queue, next string, bad *wire.Error) {
	limit := maxPage
	if size != nil {
		if *size < 1 || *size > maxPage {
			return nil, "", invalidValue(*size, "MaxResults", "MaxResults must be an integer between 1 and 1000.")
		}
		limit = int(*size)
	}
	if token != "" {
		after, err := base64.StdEncoding.DecodeString(token)
		if err != nil {
			return nil, "", invalidValue(token, "NextToken", "Invalid or expired next token.")
		}
		for len(all) > 0 && strings.Compare(all[0].name, string(after)) <= 0 {
			all = all[1:]
		}
	}
	if len(all) <= limit {
		return all, "", nil
	}
	some = all[:limit]
	if size != nil {
		next = base64.StdEncoding.EncodeToString([]byte(some[limit-1].name))
	}
	return some, next, nil
}

func (s *Service) urls(c *wire.Call, queues []*Queue) []string {
	var urls []string
	for _, q := range queues {
		urls = append(urls, s.url(c, q.name))
	}
	return urls
}
