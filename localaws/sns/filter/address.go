package filter

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/godwitmq/godwit/localaws/sns/jsontext"
)

// block is a range of IP addresses of one family.
type block struct{ first, last netip.Addr }

func (p block) matches(v *value) bool {
	if v.kind != jsontext.String {
		return false
	}
	a, ok := parseAddress(v.text)
	return ok && a.BitLen() == p.first.BitLen() && p.first.Compare(a) <= 0 && a.Compare(p.last) <= 0
}

// parseAddress parses an address as SNS does: four decimal numbers, in which leading zeros are allowed, or hexadecimal
// groups with colons; an IPv4 address mapped to IPv6 equals the IPv4 address. Zones, and dots in IPv6, are not
// accepted.
func parseAddress(text string) (netip.Addr, bool) {
	if strings.IndexByte(text, ':') >= 0 {
		if strings.ContainsAny(text, ".%") {
			return netip.Addr{}, false
		}
		a, err := netip.ParseAddr(text)
		return a.Unmap(), err == nil
	}
	var b [4]byte
	rest := text
	for i := range b {
		part, after, dot := strings.Cut(rest, ".")
		if dot == (i == 3) || part == "" || strings.Trim(part, "0123456789") != "" {
			return netip.Addr{}, false
		}
		n, err := strconv.ParseUint(part, 10, 8)
		if err != nil {
			return netip.Addr{}, false
		}
		b[i], rest = byte(n), after
	}
	return netip.AddrFrom4(b), true
}

// parseCIDR returns the block, or the reason why the text is not one.
func parseCIDR(text string) (b block, why string) {
	base, mask, slash := strings.Cut(text, "/")
	if !slash || mask == "" || strings.Contains(mask, "/") {
		return block{}, "Malformed CIDR, one '/' required"
	}
	bits, err := strconv.Atoi(mask)
	switch {
	case err != nil:
		return block{}, "Malformed CIDR, mask bits must be an integer"
	case bits < 0:
		return block{}, "Malformed CIDR, mask bits must not be negative"
	}
	a, ok := parseAddress(base)
	switch {
	case !ok:
		return block{}, "Nonstandard IP address: " + base
	case a.Is4() && bits > 31:
		return block{}, "IPv4 mask bits must be < 32"
	case a.Is6() && bits > 127:
		return block{}, "IPv6 mask bits must be < 128"
	}
	p := netip.PrefixFrom(a, bits).Masked()
	return block{first: p.Addr(), last: lastOf(p)}, ""
}

func lastOf(p netip.Prefix) netip.Addr {
	raw := p.Addr().AsSlice()
	for i := p.Bits(); i < len(raw)*8; i++ {
		raw[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(raw)
	return a
}
