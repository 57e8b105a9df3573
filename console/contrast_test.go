package console_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// colors are the variables of a style sheet, light and dark.
type colors map[string][3]float64

var variable = regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{6});`)

// readColors reads the variables of the style sheet. A dark color replaces the light one of its name.
func readColors(t *testing.T) (light, dark colors) {
	t.Helper()
	text, err := os.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark = colors{"white": rgb(t, "#ffffff")}, colors{"white": rgb(t, "#ffffff")}
	blocks := strings.Split(string(text), "@media (prefers-color-scheme: dark)")
	for i, block := range blocks {
		inside := ""
		if i > 0 { // the first rule after it
			rule, rest, _ := strings.Cut(block, "}")
			inside, block = rule, rest
		}
		for _, m := range variable.FindAllStringSubmatch(block, -1) {
			light[m[1]] = rgb(t, m[2])
			if _, set := dark[m[1]]; !set {
				dark[m[1]] = light[m[1]]
			}
		}
		for _, m := range variable.FindAllStringSubmatch(inside, -1) {
			dark[m[1]] = rgb(t, m[2])
		}
	}
	return light, dark
}

func rgb(t *testing.T, hex string) (c [3]float64) {
	t.Helper()
	for i := range c {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c[i] = float64(n) / 255
	}
	return c
}

// luminance is the relative luminance of WCAG.
func luminance(c [3]float64) float64 {
	for i, v := range c {
		if c[i] = v / 12.92; v > 0.04045 {
			c[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2]
}

// contrast is the ratio of WCAG, from 1 to 21.
func contrast(a, b [3]float64) float64 {
	l, m := luminance(a), luminance(b)
	return (max(l, m) + 0.05) / (min(l, m) + 0.05)
}

// over is a color that covers a part of its ground.
func over(c, ground [3]float64, part float64) [3]float64 {
	for i := range c {
		c[i] = c[i]*part + ground[i]*(1-part)
	}
	return c
}

// Colors of text have a contrast of 4.5 with each ground that they stand on, and lines of charts and borders of fields
// one of 3, light and dark: WCAG AA.
func TestContrast(t *testing.T) {
	light, dark := readColors(t)
	if len(light) < 30 || light["page"] == dark["page"] {
		t.Fatalf("%d colors: %v, %v", len(light), light["page"], dark["page"])
	}
	const text, line = 4.5, 3
	opacity := linkOpacity(t)
	for name, c := range map[string]colors{"light": light, "dark": dark} {
		check := func(least float64, fore string, grounds ...string) {
			t.Helper()
			for _, ground := range grounds {
				f, fok := c[fore]
				g, gok := c[ground]
				if !fok || !gok {
					t.Fatalf("%s: there is no color %s or %s", name, fore, ground)
				}
				if got := contrast(f, g); got < least {
					t.Errorf("%s: %s on %s has a contrast of %.2f, and %.1f are needed", name, fore, ground, got, least)
				}
			}
		}
		check(text, "text", "page", "card", "soft", "box", "track", "bad-soft", "warn-soft")
		check(text, "faint", "page", "card", "soft", "box")
		check(text, "link", "page", "card", "soft", "bad-soft", "warn-soft")
		check(text, "ok", "page", "card", "soft", "track")
		check(text, "warn", "page", "card", "soft", "warn-soft")
		check(text, "bad", "page", "card", "soft", "bad-soft")
		check(text, "white", "primary", "primary-hover")
		for _, shape := range []string{"ok", "warn", "bad", "plain", "second"} {
			check(line, shape, "page")
		}
		for _, bar := range []string{"ok", "warn", "bad"} {
			check(line, bar, "track") // of lanes and strips
		}
		for i := range 8 {
			check(line, fmt.Sprintf("s%d", i), "page")
		}
		check(line, "edge", "page", "card", "soft")
		check(line, "link", "page", "soft") // the outline of the focus
		if got := contrast(over(c["plain"], c["page"], opacity), c["page"]); got < line {
			t.Errorf("%s: a link of the map has a contrast of %.2f", name, got)
		}
	}
}

// linkOpacity is how opaque the links of the map are.
func linkOpacity(t *testing.T) float64 {
	t.Helper()
	css, err := os.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`\.c-link \{[^}]*stroke-opacity: ([0-9.]+);`).FindSubmatch(css)
	if m == nil {
		t.Fatal("the style sheet does not say how opaque links are")
	}
	v, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
