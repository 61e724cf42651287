package urlpolicy

import "strings"

// internal are the schemes that a browser knows itself and that callers may
// confuse with a host: refused, or judged by rules of their own.
var internal = set(`http https about vantage file javascript vbscript data blob filesystem view-source
	chrome chrome-extension chrome-untrusted chrome-error chrome-search devtools isolated-app edge brave
	webkit resource moz-extension jar wyciwyg ftp ws wss cid mid urn content`)

// handOffs are the schemes that systems hand to another program.
var handOffs = set(`mailto tel sms smsto mms mmsto callto sip sips facetime facetime-audio imessage
	magnet ed2k bitcoin bitcoincash ethereum litecoin lightning monero dogecoin
	skype slack zoommtg zoomus msteams webex discord tg whatsapp signal sgnl viber line weixin wechat fb-messenger
	xmpp irc ircs irc6 matrix mumble ts3server teamspeak news nntp snews
	spotify steam itunes itms itms-apps itms-appss itms-services music podcast vlc rtsp rtmp com.epicgames.launcher
	vscode vscode-insiders vscodium cursor jetbrains idea xcode github-desktop sourcetree
	figma notion obsidian evernote zotero things todoist trello linear
	webcal webcals calendar geo maps comgooglemaps waze market intent android-app
	apt snap appstream steamlink ssh sftp telnet rdp vnc ldap ldaps git
	otpauth otpauth-migration openpgp4fpr keepassxc onepassword bitwarden feed gopher
	shortcuts x-apple.systempreferences search-ms onenote`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// external tells whether a scheme is handed to another program. A site may
// register web+NAME schemes, and Office has one for each of its programs.
func external(scheme string) bool {
	return handOffs[scheme] || strings.HasPrefix(scheme, "web+") || strings.HasPrefix(scheme, "ms-")
}

func knownScheme(scheme string) bool { return internal[scheme] || external(scheme) }
