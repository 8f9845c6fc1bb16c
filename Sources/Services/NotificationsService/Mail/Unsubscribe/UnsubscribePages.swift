import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import MartletMail
import NIOCore

/// The pages behind the unsubscribe link. They contain no scripts or external content, and cannot be framed or cached.
enum UnsubscribePages {
    static func question(_ token: UnsubscribeToken) -> Response {
        page(
            "Unsubscribe",
            """
            <h1>Unsubscribe</h1>
            <p>\(token.address) gets mail from <strong>\(token.app)</strong> about “\(token.topic)”.</p>
            <form method="post"><button name="scope" value="topic">Unsubscribe from these mails</button></form>
            <form method="post"><button name="scope" value="all" class="second">Unsubscribe from all mail from \(token.app)</button></form>
            """)
    }

    static func done(_ token: UnsubscribeToken, all: Bool) -> Response {
        page(
            "Unsubscribed",
            """
            <h1>You are unsubscribed</h1>
            <p>\(token.app) will send no more mail to \(token.address) about \(all ? "any topic" : "“\(token.topic)”").</p>
            """)
    }

    static var unknown: Response {
        page(
            "Unsubscribe",
            "<h1>This link does not work</h1><p>Please use the complete link from the most recent mail.</p>",
            status: .notFound)
    }

    private static func page(_ title: String, _ content: HTML, status: HTTPResponse.Status = .ok) -> Response {
        let page: HTML = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="robots" content="noindex">
            <title>\(title)</title>
            <style>\(style)</style>
            </head>
            <body><main>
            \(content)
            </main></body>
            </html>

            """
        return Response(
            status: status,
            headers: [
                .contentType: "text/html; charset=utf-8", .cacheControl: "no-store",
                .contentSecurityPolicy:
                    "default-src 'none'; style-src '\(styleHash)'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
                .xContentTypeOptions: "nosniff", .referrerPolicy: "no-referrer",
            ],
            body: .init(byteBuffer: ByteBuffer(string: page.text)))
    }

    private static let style: HTML = """
        :root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0}main{max-width:26rem;margin:10vh auto;padding:0 1rem}\
        h1{font-size:1.4rem}button{width:100%;margin-top:1rem;padding:.7rem;font:inherit;border:0;border-radius:.4rem;background:#1a5fb4;color:#fff}\
        .second{background:#5e5c64}
        """

    private static let styleHash = "sha256-" + Data(SHA256.hash(data: Data(style.text.utf8))).base64EncodedString()
}

extension HTTPField.Name {
    fileprivate static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
}
