package wire

import "strings"

// QueuePlace returns the account and the region that a queue's URL names; "": it names none. The account is before the
// name. The region is after the account and a dot, as in the URLs that this server gives for other regions than its
// own, or before the account ("/queue/REGION/ACCOUNT/NAME"), or in the host ("sqs.REGION.", "REGION.queue."). It is
// called for every message, and allocates nothing.
func QueuePlace(url string) Place {
	slash := strings.LastIndexByte(url, '/')
	if slash < 0 {
		return Place{}
	}
	rest := url[:slash]
	account := rest[strings.LastIndexByte(rest, '/')+1:]
	rest = strings.TrimSuffix(rest[:len(rest)-len(account)], "/")
	account, region, _ := strings.Cut(account, ".")
	if !IsAccount(account) || region != "" && !IsRegion(region) {
		return Place{}
	}
	if region == "" {
		region = rest[strings.LastIndexByte(rest, '/')+1:]
		if !IsRegion(region) || !strings.HasSuffix(rest, "/queue/"+region) {
			region = HostRegion(url)
		}
	}
	return Place{account, region}
}

// HostRegion returns the region that the host of a URL names, in the forms of SQS; "": it names none.
func HostRegion(url string) string {
	_, host, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	host, _, _ = strings.Cut(host, "/")
	if after, ok := strings.CutPrefix(host, "sqs."); ok {
		host = after
	} else if _, after, _ := strings.Cut(host, "."); !strings.HasPrefix(after, "queue.") {
		return ""
	}
	if region, _, _ := strings.Cut(host, "."); IsRegion(region) {
		return region
	}
	return ""
}
