package page

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"github.com/vant-run/vant/plugins/browser/target"
	"github.com/vant-run/vant/plugins/browser/transport"
)

const (
	// frameBound is how long a tab may take to give a picture: one in the
	// background may never do.
	frameBound = 15 * time.Second
	// maxSide is the longest side of a picture, in pixels: what Chromium can draw.
	maxSide = 16384
)

// ScreenshotError is why there is no picture.
type ScreenshotError struct{ Message string }

// Error implements error.
func (e *ScreenshotError) Error() string { return e.Message }

// Shot says which picture is taken.
type Shot struct {
	Path     string
	FullPage bool
	Ref      string
	Format   string // png, jpeg or webp
	Quality  int    // of jpeg and webp, 1 to 100
	Annotate bool
}

// Picture is a picture that was taken.
type Picture struct {
	Path   string `json:"path"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Bytes  int    `json:"bytes"`
}

// Screenshot takes a picture of the tab into a file, which is replaced in one step.
func Screenshot(ctx context.Context, t *target.Tab, s Shot) (Picture, error) {
	if !filepath.IsAbs(s.Path) {
		return Picture{}, &ScreenshotError{"path must be absolute"}
	}
	if s.Annotate && s.Format == "webp" {
		return Picture{}, &ParamError{"annotate", "goes with png and jpeg"}
	}
	if info, err := os.Stat(filepath.Dir(s.Path)); err != nil || !info.IsDir() {
		return Picture{}, &ScreenshotError{"there is no folder " + filepath.Dir(s.Path)}
	}
	limited, cancel := context.WithTimeout(ctx, frameBound)
	defer cancel()
	clip, boxes, err := s.area(limited, t)
	if err != nil {
		return Picture{}, err
	}
	data, err := s.capture(limited, t, clip)
	var refused *transport.Error
	if errors.As(err, &refused) || errors.Is(err, transport.ErrTooLarge) {
		return Picture{}, &ScreenshotError{err.Error()}
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return Picture{}, &ScreenshotError{"the tab gives no picture: select it, or look whether it answers"}
	}
	if err != nil {
		return Picture{}, err
	}
	if s.Annotate {
		if data, err = s.annotate(data, clip, boxes); err != nil {
			return Picture{}, &ScreenshotError{err.Error()}
		}
	}
	width, height := size(data)
	if err := replace(s.Path, data); err != nil {
		return Picture{}, &ScreenshotError{err.Error()}
	}
	return Picture{s.Path, width, height, len(data)}, nil
}

// box is an element to draw around, in the page's coordinates.
type box struct {
	ref           string
	x, y          float64
	width, height float64
}

// area is what the picture shows, and the boxes to draw.
func (s Shot) area(ctx context.Context, t *target.Tab) (*page.Viewport, []box, error) {
	var metrics page.GetLayoutMetricsResult
	err := t.Guarded(ctx, func(ctx context.Context) (err error) {
		metrics, err = cdp.Call(ctx, t.Session(), page.GetLayoutMetrics, cdp.Empty{})
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	view := metrics.CSSVisualViewport
	var boxes []box
	if s.Annotate {
		if boxes, err = bounds(ctx, t, view.PageX, view.PageY); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case s.Ref != "":
		at, failure := where(t, Element{Ref: s.Ref})
		if failure != nil {
			return nil, nil, &FailedTarget{Code: failure.Error, Reason: failure.Reason}
		}
		var ans struct {
			answer
			Width  float64 `json:"width"`
			Height float64 `json:"height"`
		}
		err := at.ask(ctx, "box", map[string]any{"target": Element{Ref: s.Ref}}, &ans)
		if failure, err := stale(at, err); failure != nil || err != nil {
			if failure != nil {
				err = &FailedTarget{Code: failure.Error, Reason: failure.Reason}
			}
			return nil, nil, err
		}
		if !ans.OK {
			return nil, nil, &FailedTarget{Code: ans.Error, Reason: ans.Reason}
		}
		if ans.Width <= 0 || ans.Height <= 0 {
			return nil, nil, &ScreenshotError{"the element is not shown: it has no size"}
		}
		corner, err := outside(ctx, at.frame, ans.Point)
		if err != nil {
			return nil, nil, err
		}
		return &page.Viewport{
			X: corner.X + view.PageX, Y: corner.Y + view.PageY, Width: min(max(1, ans.Width), maxSide), Height: min(max(1, ans.Height), maxSide), Scale: 1,
		}, boxes, nil
	case s.FullPage:
		c := metrics.CSSContentSize
		return &page.Viewport{
			X: c.X, Y: c.Y, Width: min(max(1, c.Width), maxSide), Height: min(max(1, c.Height), maxSide), Scale: 1,
		}, boxes, nil
	}
	return &page.Viewport{X: view.PageX, Y: view.PageY, Width: view.ClientWidth, Height: view.ClientHeight, Scale: 1}, boxes, nil
}

// outside carries a point of a frame's viewport into the main frame's.
func outside(ctx context.Context, f *target.Frame, p Point) (Point, error) {
	for ; f.Parent() != nil; f = f.Parent() {
		if err := f.Bind(ctx); err != nil {
			return p, err
		}
		var ans answer
		around := place{frame: f.Parent()}
		if err := around.ask(ctx, "outside", map[string]any{"frame": f.ID, "x": p.X, "y": p.Y}, &ans); err != nil {
			return p, err
		}
		p = ans.Point
	}
	return p, nil
}

// bounds are the boxes of what a snapshot shows, in the main frame.
func bounds(ctx context.Context, t *target.Tab, dx, dy float64) ([]box, error) {
	raw, err := Snapshot(ctx, t, SnapshotOptions{Limit: 500, MaxBytes: 1 << 20, Detail: true})
	if err != nil {
		return nil, err
	}
	var list struct {
		Elements []struct {
			Ref    string `json:"ref"`
			Frame  string `json:"frame"`
			Bounds *struct {
				X      float64 `json:"x"`
				Y      float64 `json:"y"`
				Width  float64 `json:"width"`
				Height float64 `json:"height"`
			} `json:"bounds"`
		} `json:"elements"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	var boxes []box
	for _, e := range list.Elements {
		if e.Bounds == nil {
			continue
		}
		corner := Point{e.Bounds.X, e.Bounds.Y}
		if e.Frame != "" {
			f, err := t.Frame(e.Frame)
			if err != nil {
				continue // it went meanwhile
			}
			if corner, err = outside(ctx, f, corner); err != nil {
				continue
			}
		}
		boxes = append(boxes, box{e.Ref, corner.X + dx, corner.Y + dy, e.Bounds.Width, e.Bounds.Height})
	}
	return boxes, nil
}

func (s Shot) capture(ctx context.Context, t *target.Tab, clip *page.Viewport) ([]byte, error) {
	fast, beyond := true, s.FullPage || s.Ref != ""
	p := page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormat(s.Format), OptimizeForSpeed: &fast, CaptureBeyondViewport: &beyond, Clip: clip,
	}
	if s.Format != "png" {
		quality := int64(s.Quality)
		p.Quality = &quality
	}
	var answer struct {
		Data string `json:"data"`
	}
	err := t.Guarded(ctx, func(ctx context.Context) error {
		return t.Session().Call(ctx, page.CaptureScreenshot.Method, p, &answer)
	})
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(answer.Data)
}

// annotate draws the boxes and their refs on the picture.
func (s Shot) annotate(data []byte, clip *page.Viewport, boxes []box) ([]byte, error) {
	decoded, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	canvas := image.NewRGBA(decoded.Bounds())
	draw.Draw(canvas, canvas.Bounds(), decoded, decoded.Bounds().Min, draw.Src)
	scale := float64(canvas.Bounds().Dx()) / clip.Width
	for _, b := range boxes {
		x, y := int((b.x-clip.X)*scale), int((b.y-clip.Y)*scale)
		frameBox(canvas, image.Rect(x, y, x+int(b.width*scale), y+int(b.height*scale)), b.ref)
	}
	var out bytes.Buffer
	if s.Format == "jpeg" {
		err = jpeg.Encode(&out, canvas, &jpeg.Options{Quality: s.Quality})
	} else {
		err = png.Encode(&out, canvas)
	}
	return out.Bytes(), err
}

// size reads a picture's size from its head.
func size(data []byte) (width, height int) {
	if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		return c.Width, c.Height
	}
	return webpSize(data)
}

// webpSize reads the head of a WebP file, in any of its three forms.
func webpSize(d []byte) (width, height int) {
	if len(d) < 30 || string(d[:4]) != "RIFF" || string(d[8:12]) != "WEBP" {
		return 0, 0
	}
	switch string(d[12:16]) {
	case "VP8 ":
		return int(d[26]) | int(d[27]&0x3f)<<8, int(d[28]) | int(d[29]&0x3f)<<8
	case "VP8L":
		n := uint32(d[21]) | uint32(d[22])<<8 | uint32(d[23])<<16 | uint32(d[24])<<24
		return int(n&0x3fff) + 1, int(n>>14&0x3fff) + 1
	case "VP8X":
		return 1 + (int(d[24]) | int(d[25])<<8 | int(d[26])<<16), 1 + (int(d[27]) | int(d[28])<<8 | int(d[29])<<16)
	}
	return 0, 0
}

// replace writes a file beside its place and moves it there.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".vant-*")
	if err != nil {
		return unwritten(path, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close()) // its mode is 0600: pages may be private
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(unwritten(path, err), os.Remove(f.Name()))
	}
	return nil
}

// unwritten says why a file cannot be written, without the name of another that
// was to take its place.
func unwritten(path string, err error) error {
	var file *os.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &file):
		err = file.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return fmt.Errorf("%s cannot be written: %w", path, err)
}
