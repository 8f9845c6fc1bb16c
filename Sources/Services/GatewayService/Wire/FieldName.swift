/// A header that the gateway acts on. All others are `other` and are passed through unchanged.
enum FieldName: UInt8 {
    case other
    // Framing and connection
    case host, contentLength, transferEncoding, connection, keepAlive, upgrade, te, trailer, expect
    case proxyConnection, proxyAuthenticate, proxyAuthorization, http2Settings
    // Martlet and forwarding
    case secret, masterKey, environment, user, otherMartlet, requestID
    case forwarded, forwardedFor, forwardedProto, forwardedHost
    case traceparent, tracestate
    // Credentials of third-party protocols
    case authorization, apiKey, sentryAuth
    // Staff in a browser
    case cookie, dashboard, fetchSite
    // CORS
    case origin, accessControlRequestMethod, accessControlRequestHeaders, accessControlAnswer
    case server

    /// Applies to one connection only and is never forwarded (RFC 9110 §7.6.1).
    var isHopByHop: Bool {
        switch self {
        case .connection, .keepAlive, .upgrade, .te, .trailer, .transferEncoding, .proxyConnection,
            .proxyAuthenticate, .proxyAuthorization, .http2Settings:
            true
        default: false
        }
    }

    init(_ name: UnsafeRawBufferPointer) {
        if name.count >= 10, name[0] | 0x20 == UInt8(ascii: "x"),
            UnsafeRawBufferPointer(rebasing: name[..<10]).spells("x-martlet-")
        {
            self = Self.martlet(name)
        } else {
            self = Self.known(name) ?? Self.rare(name) ?? .other
        }
    }

    private static func known(_ name: UnsafeRawBufferPointer) -> FieldName? {
        switch name.count {
        case 2: name.spells("te") ? .te : nil
        case 4: name.spells("host") ? .host : nil
        case 6:
            switch name[0] | 0x20 {
            case UInt8(ascii: "c"): name.spells("cookie") ? .cookie : nil
            case UInt8(ascii: "e"): name.spells("expect") ? .expect : nil
            case UInt8(ascii: "o"): name.spells("origin") ? .origin : nil
            default: name.spells("server") ? .server : nil
            }
        case 7:
            switch name[0] | 0x20 {
            case UInt8(ascii: "u"): name.spells("upgrade") ? .upgrade : nil
            default: name.spells("trailer") ? .trailer : nil
            }
        case 9:
            switch name[0] | 0x20 {
            case UInt8(ascii: "x"): name.spells("x-api-key") ? .apiKey : nil
            default: name.spells("forwarded") ? .forwarded : nil
            }
        case 10:
            switch name[0] | 0x20 {
            case UInt8(ascii: "c"): name.spells("connection") ? .connection : nil
            case UInt8(ascii: "t"): name.spells("tracestate") ? .tracestate : nil
            default: name.spells("keep-alive") ? .keepAlive : nil
            }
        case 11: name.spells("traceparent") ? .traceparent : nil
        case 12: name.spells("x-request-id") ? .requestID : nil
        case 13:
            switch name[0] | 0x20 {
            case UInt8(ascii: "x"): name.spells("x-sentry-auth") ? .sentryAuth : nil
            default: name.spells("authorization") ? .authorization : nil
            }
        case 14:
            switch name[0] | 0x20 {
            case UInt8(ascii: "c"): name.spells("content-length") ? .contentLength : nil
            case UInt8(ascii: "s"): name.spells("sec-fetch-site") ? .fetchSite : nil
            default: name.spells("http2-settings") ? .http2Settings : nil
            }
        case 15: name.spells("x-forwarded-for") ? .forwardedFor : nil
        case 17:
            switch name[0] | 0x20 {
            case UInt8(ascii: "t"): name.spells("transfer-encoding") ? .transferEncoding : nil
            default: name.spells("martlet-dashboard") ? .dashboard : nil
            }
        default: nil
        }
    }

    private static func rare(_ name: UnsafeRawBufferPointer) -> FieldName? {
        guard let first = name.first else { return nil }
        switch first | 0x20 {
        case UInt8(ascii: "x"):
            if name.spells("x-forwarded-proto") { return .forwardedProto }
            return name.spells("x-forwarded-host") ? .forwardedHost : nil
        case UInt8(ascii: "p"):
            if name.spells("proxy-connection") { return .proxyConnection }
            if name.spells("proxy-authorization") { return .proxyAuthorization }
            return name.spells("proxy-authenticate") ? .proxyAuthenticate : nil
        case UInt8(ascii: "a"):
            if name.spells("access-control-request-method") { return .accessControlRequestMethod }
            if name.spells("access-control-request-headers") { return .accessControlRequestHeaders }
            let isAnswer = name.count > 15 && UnsafeRawBufferPointer(rebasing: name[..<15]).spells("access-control-")
            return isAnswer ? .accessControlAnswer : nil
        default: return nil
        }
    }

    private static func martlet(_ name: UnsafeRawBufferPointer) -> FieldName {
        if name.spells("x-martlet-secret") { return .secret }
        if name.spells("x-martlet-master-key") { return .masterKey }
        if name.spells("x-martlet-user") { return .user }
        return name.spells("x-martlet-environment") ? .environment : .otherMartlet
    }
}
