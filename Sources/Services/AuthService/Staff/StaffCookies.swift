import HTTPTypes
import Hummingbird
import MartletAPI
import MartletHTTP

/// The tokens of staff who sign in with a browser, as cookies that no script can read.
///
/// The prefix `__Host-` keeps other hosts of the domain from setting them (RFC 6265bis §4.1.3.2). The gateway accepts
/// the access token from its cookie (`BrowserSession`); the refresh token is only read by `RefreshStaffSession`.
enum StaffCookies {
    private static let access = "__Host-martlet-staff"
    private static let refresh = "__Host-martlet-staff-refresh"

    static func set(
        _ accessToken: String, for seconds: Int64, _ refreshToken: String, for refreshSeconds: Int64,
        in response: inout Response
    ) {
        response.setCookie(cookie(access, accessToken, seconds))
        response.setCookie(cookie(refresh, refreshToken, refreshSeconds))
    }

    static func remove(from response: inout Response) {
        set("", for: 0, "", for: 0, in: &response)
    }

    static func refreshToken(_ request: Request) -> String? {
        request.isFromDashboard ? request.cookies[refresh]?.value : nil
    }

    private static func cookie(_ name: String, _ value: String, _ seconds: Int64) -> Cookie {
        Cookie(
            name: name, value: value, maxAge: Int(seconds), path: "/", secure: true, httpOnly: true, sameSite: .strict)
    }
}

extension Request {
    /// Whether the request and its answer carry staff tokens as cookies. The gateway has checked that the request comes
    /// from one of its own pages.
    var isFromDashboard: Bool { headers[HTTPField.Name(HeaderName.dashboard)!] != nil }
}

extension RouteParameter {
    static let dashboard = header(
        "Martlet-Dashboard", .oneOf("1"),
        """
        Sent by a dashboard in a browser: tokens are set as cookies instead of being part of the answer. Then \
        `Sec-Fetch-Site` or `Origin` must name this server.
        """)
}
