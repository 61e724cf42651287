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
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"

	"github.com/vant-run/vant/plugins/browser/target"
	"github.com/vant-run/vant/plugins/browser/transport"
)

const (
	// pictureBound is how long a tab may take to give a picture: one in the
	// background may never do.
	pictureBound = 15 * time.Second
	// layoutBound is how long the page may take to be laid out as it was.
	layoutBound = 5 * time.Second
	// maxSide is the longest side of a picture, in pixels: what Chromium can draw.
	maxSide = 16384
	// maxTaken bounds the pixels of a picture: more keep Chromium busy for longer than
	// anybody waits, with gigabytes.
	maxTaken = 32 << 20
	// maxDrawn bounds the pixels of a picture that is drawn on, which takes four
	// bytes for each. A larger one is taken smaller.
	maxDrawn = 24 << 20
)

// ScreenshotError is why there is no picture.
type ScreenshotError struct{ Message string }

// Error implements error.
func (e *ScreenshotError) Error() string { return e.Message }

// Shot says which picture is taken.
type Shot struct {
	Path     string
	FullPage bool
	Element         // that alone is shown, when one is named
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
	// Truncated: the page or the element goes on beyond the longest side.
	Truncated bool    `json:"truncated,omitzero"`
	Scale     float64 `json:"scale,omitzero"` // of a picture that was taken smaller
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
	if err := replaceable(s.Path); err != nil {
		return Picture{}, &ScreenshotError{err.Error()}
	}
	limited, cancel := context.WithTimeout(ctx, pictureBound)
	defer cancel()
	a, err := s.area(limited, t)
	if err != nil {
		return Picture{}, err
	}
	data, err := s.capture(limited, t, a)
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
		if data, err = s.annotate(data, a); err != nil {
			return Picture{}, &ScreenshotError{err.Error()}
		}
	}
	width, height := size(data)
	if err := replace(s.Path, data); err != nil {
		return Picture{}, &ScreenshotError{err.Error()}
	}
	p := Picture{Path: s.Path, Width: width, Height: height, Bytes: len(data), Truncated: a.truncated}
	if a.clip.Scale < 1 {
		p.Scale = math.Round(a.clip.Scale*1000) / 1000
	}
	return p, nil
}

// area is what a picture shows, in the page's coordinates, and the boxes to draw.
type area struct {
	clip      page.Viewport
	truncated bool
	boxes     []marked
	scrolled  Point  // of the page, before
	world     string // the document that was scrolled so, "" when it is not known
}

// marked is an element to draw around.
type marked struct {
	ref string
	box
}

// area finds what the picture shows.
func (s Shot) area(ctx context.Context, t *target.Tab) (area, error) {
	density, world := 1.0, ""
	if s.beyond() || s.Annotate { // else it is what fits on a screen
		var err error
		if density, world, err = pixelDensity(ctx, t); err != nil {
			return area{}, err
		}
	}
	var metrics page.GetLayoutMetricsResult
	err := t.Guarded(ctx, func(ctx context.Context) (err error) {
		metrics, err = cdp.Call(ctx, t.Session(), page.GetLayoutMetrics, cdp.Empty{})
		return err
	})
	if err != nil {
		return area{}, err
	}
	view := metrics.CSSVisualViewport
	shown := box{view.PageX, view.PageY, view.ClientWidth, view.ClientHeight}
	switch {
	case s.one():
		if shown, err = s.element(ctx, t); err != nil {
			return area{}, err
		}
		shown.X, shown.Y = shown.X+view.PageX, shown.Y+view.PageY
	case s.FullPage:
		c := metrics.CSSContentSize
		shown = box{c.X, c.Y, c.Width, c.Height}
	}
	a := fit(shown, density, s.Annotate)
	a.scrolled, a.world = Point{float64(metrics.CSSLayoutViewport.PageX), float64(metrics.CSSLayoutViewport.PageY)}, world
	if s.Annotate {
		a.boxes, err = marks(ctx, t, view.PageX, view.PageY)
	}
	return a, err
}

// pixelDensity is how many pixels of the screen one of the page has, and in which
// document.
func pixelDensity(ctx context.Context, t *target.Tab) (density float64, world string, err error) {
	at := place{frame: t.Main()}
	var page struct {
		Value struct {
			Viewport struct {
				Scale float64 `json:"scale"`
			} `json:"viewport"`
		} `json:"value"`
	}
	err = at.ask(ctx, "inspect", map[string]any{"kind": "metadata"}, &page)
	if errors.Is(err, target.ErrNavigated) {
		return 1, "", nil
	}
	if density = page.Value.Viewport.Scale; density <= 0 {
		density = 1
	}
	return density, at.world, err
}

// fit is as much of a box as can be drawn; drawn on, in as many pixels as are
// allowed.
func fit(shown box, density float64, drawn bool) area {
	longest := maxSide / density
	a := area{truncated: shown.Width > longest || shown.Height > longest}
	width, height := min(max(1, shown.Width), longest), min(max(1, shown.Height), longest)
	a.clip = page.Viewport{X: shown.X, Y: shown.Y, Width: width, Height: height, Scale: 1}
	most := float64(maxTaken)
	if drawn {
		most = maxDrawn
	}
	if pixels := width * height * density * density; pixels > most {
		a.clip.Scale = math.Sqrt(most / pixels)
	}
	return a
}

// one tells whether the picture is of one element.
func (s Shot) one() bool { return s.Ref != "" || s.Selector != "" }

// beyond tells whether the picture may show more than the viewport.
func (s Shot) beyond() bool { return s.FullPage || s.one() }

// boxed is where an element is in its frame's viewport.
type boxed struct {
	Failure
	box
}

// element is where the element is, in the main frame's viewport.
func (s Shot) element(ctx context.Context, t *target.Tab) (box, error) {
	if s.Selector != "" {
		s.Ref = ""
	}
	at, failure := where(t, s.Element)
	if failure != nil {
		return box{}, &FailedTarget{Code: failure.Error, Reason: failure.Reason}
	}
	look := func(ctx context.Context, at *place) (boxed, error) {
		var ans boxed
		err := at.ask(ctx, "box", map[string]any{"target": s.Element}, &ans)
		return ans, err
	}
	ans, err := look(ctx, &at)
	if err == nil && s.Selector != "" && ans.Reason == "missing" { // in the page; then in its frames
		var mu sync.Mutex
		found := make(map[*target.Frame]boxed)
		var ok bool
		at, ok, err = firstFrame(ctx, t, time.Now(), func(ctx context.Context, at *place) (bool, error) {
			ans, err := look(ctx, at)
			mu.Lock()
			defer mu.Unlock()
			found[at.frame] = ans
			return ans.OK, err
		})
		if ok {
			ans = found[at.frame]
		}
	}
	if failure, err = stale(at, err); err != nil {
		return box{}, err
	}
	if failure == nil && !ans.OK {
		failure = &ans.Failure
	}
	switch {
	case failure != nil && failure.Error == "invalid_selector":
		return box{}, &ParamError{"selector", failure.Message}
	case failure != nil:
		return box{}, &FailedTarget{Code: failure.Error, Reason: failure.Reason}
	}
	if ans.Width <= 0 || ans.Height <= 0 {
		return box{}, &ScreenshotError{"the element is not shown: it has no size"}
	}
	boxes, err := outsideBoxes(ctx, at.frame, []box{ans.box})
	if err != nil {
		return box{}, err
	}
	return boxes[0], nil
}

// marks are the boxes of what a snapshot shows, with dx and dy added.
func marks(ctx context.Context, t *target.Tab, dx, dy float64) ([]marked, error) {
	raw, err := Snapshot(ctx, t, SnapshotOptions{Limit: 500, MaxBytes: 1 << 20, Bounds: true})
	if err != nil {
		return nil, err
	}
	list, err := boxesIn(raw)
	if err != nil {
		return nil, err
	}
	var all []marked
	for _, in := range list {
		f, err := t.Frame(in.frame)
		if err == nil {
			in.boxes, err = outsideBoxes(ctx, f, in.boxes)
		}
		if err != nil {
			continue // it went meanwhile
		}
		for i, b := range in.boxes {
			all = append(all, marked{in.refs[i], box{b.X + dx, b.Y + dy, b.Width, b.Height}})
		}
	}
	return all, nil
}

// framed is what of a snapshot is in one frame.
type framed struct {
	frame string
	refs  []string
	boxes []box
}

// boxesIn sorts the boxes of a snapshot by frames, both in the order of its list:
// where a label is drawn depends on those before it.
func boxesIn(snapshot []byte) ([]framed, error) {
	var list struct {
		Elements []struct {
			Ref    string `json:"ref"`
			Frame  string `json:"frame"`
			Bounds *box   `json:"bounds"`
		} `json:"elements"`
	}
	if err := json.Unmarshal(snapshot, &list); err != nil {
		return nil, err
	}
	var all []framed
	at := make(map[string]int)
	for _, e := range list.Elements {
		if e.Bounds == nil {
			continue
		}
		i, ok := at[e.Frame]
		if !ok {
			i = len(all)
			at[e.Frame] = i
			all = append(all, framed{frame: e.Frame})
		}
		all[i].refs = append(all[i].refs, e.Ref)
		all[i].boxes = append(all[i].boxes, *e.Bounds)
	}
	return all, nil
}

// capture takes the picture. One of more than the viewport changes how the page is
// laid out, and that is undone here when the browser has done with it, also when
// that is too late for the caller.
func (s Shot) capture(ctx context.Context, t *target.Tab, a area) ([]byte, error) {
	fast, beyond := true, s.beyond()
	p := page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormat(s.Format), OptimizeForSpeed: &fast, CaptureBeyondViewport: &beyond, Clip: &a.clip,
	}
	if s.Format != "png" {
		quality := int64(s.Quality)
		p.Quality = &quality
	}
	var answer struct {
		Data string `json:"data"`
	}
	err := t.Guarded(ctx, func(ctx context.Context) error {
		if !beyond {
			return t.Session().Call(ctx, page.CaptureScreenshot.Method, p, &answer)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx) // nothing is sent
		}
		taken, undone := t.Session().Start(page.CaptureScreenshot.Method, p), make(chan error, 1)
		go func() {
			<-taken.Done()
			undone <- a.relayout(t)
		}()
		select {
		case failed := <-undone:
			raw, err := taken.Wait(ctx)
			if err != nil {
				return err
			}
			if failed != nil {
				return failed
			}
			return jsonv2.Unmarshal(raw, &answer)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(answer.Data)
}

// relayout lays the page out as it was. Another document that has come since stays
// where it is.
func (a area) relayout(t *target.Tab) error {
	ctx, cancel := context.WithTimeout(context.Background(), layoutBound)
	defer cancel()
	err := target.ErrNavigated
	if a.world != "" {
		_, _, err = t.Main().Invoke(ctx, a.world, "relayout", a.scrolled)
	}
	if errors.Is(err, target.ErrNavigated) {
		_, _, err = t.Main().Invoke(ctx, "", "relayout", struct{}{})
	}
	if gone(err) {
		return nil
	}
	return err
}

// annotate draws the boxes and their refs on the picture.
func (s Shot) annotate(data []byte, a area) ([]byte, error) {
	if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && c.Width*c.Height > 2*maxDrawn {
		return nil, fmt.Errorf("the picture of %d×%d pixels is too large to be drawn on", c.Width, c.Height)
	}
	decoded, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	canvas, ok := decoded.(*image.RGBA)
	if !ok {
		canvas = image.NewRGBA(decoded.Bounds())
		draw.Draw(canvas, canvas.Bounds(), decoded, decoded.Bounds().Min, draw.Src)
	}
	scale := float64(canvas.Bounds().Dx()) / a.clip.Width
	notes := make([]note, len(a.boxes))
	for i, b := range a.boxes {
		x, y := int((b.X-a.clip.X)*scale), int((b.Y-a.clip.Y)*scale)
		notes[i] = note{ref: b.ref, box: image.Rect(x, y, x+int(b.Width*scale), y+int(b.Height*scale))}
	}
	drawNotes(canvas, notes)
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

// replaceable says why what is at path cannot be replaced by a file.
func replaceable(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unwritten(path, err)
	}
	if info.Mode().IsRegular() {
		return nil
	}
	kind := "device"
	switch mode := info.Mode(); {
	case mode.IsDir():
		kind = "folder"
	case mode&os.ModeSymlink != 0:
		kind = "symbolic link"
	case mode&os.ModeNamedPipe != 0:
		kind = "pipe"
	case mode&os.ModeSocket != 0:
		kind = "socket"
	}
	return fmt.Errorf("%s is a %s and is not replaced: give the path of a new or a regular file", path, kind)
}

// replace writes a file beside its place and moves it there.
func replace(path string, data []byte) error {
	if err := replaceable(path); err != nil { // it may have come meanwhile
		return err
	}
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
