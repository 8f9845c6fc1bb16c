import Foundation
import MartletKit

/// The parts of the story with third-party services: Apple's push service and an identity provider, both simulated.
extension SportLookStory {
    /// The text arrives at one phone and at none of the others, and the app handles it in each of its states.
    func checkPush(
        _ text: String, of event: Stored<Event>, to phone: SportLookPhone, notTo others: [SportLookPhone]
    ) async throws {
        guard let apns = simulators.apns(app.environment), let token = phone.token else {
            return story.says("(Without a simulated APNs, nothing shows whether the push “\(text)” arrives.)")
        }
        let payload = try await apns.payload(for: token, saying: text)
        try story.check(payload["event"]?.stringValue == event.id, "The push names another event: \(payload).")
        story.says("\(phone.owner)'s phone shows “\(text)”, with the event's id for the app.")
        for other in others {
            let texts = try other.token.map { try apns.payloads(for: $0) } ?? []
            try story.check(
                !texts.contains { $0["aps"]?["alert"]?["body"]?.stringValue == text },
                "\(other.owner)'s phone shows “\(text)”, too.")
        }
        let notifications = phone.app.martlet.notifications
        let outcomes = [
            await notifications.handle(payload, in: .foreground), await notifications.handle(payload, in: .background),
            await notifications.handle(payload, in: .tapped),
        ]
        try story.check(outcomes == [.shown, .shown, .opened], "The app handled the push as \(outcomes).")
        let message = payload["martlet"]?["message"]?.stringValue ?? ""
        try await Story.wait(for: "the report that the push was opened") {
            try await app.manage("GET", "notifications/messages/\(message)").text.contains(#""opened":1"#)
        }
        story.says("Tapping it opens the event and is reported; while the app is open, it is only shown.")
    }

    /// Signs in at the provider's page and comes back to the app.
    func signInByProvider() async throws {
        guard let provider = simulators.provider else {
            return story.says("(Without a simulated provider, nobody signs in by one.)")
        }
        let callback = "org.example.sportlook:/signed-in"
        try await app.manage(
            "PUT", "auth/providers/social",
            [
                "kind": "oidc", "issuer": .string(provider.absoluteString), "clientIDs": ["sportlook"],
                "clientSecret": "any", "redirectURLs": [.string(callback)], "appKey": .string(app.appKey),
            ])
        guard let redirect = URL(string: callback) else { throw StoryError("The app has no address.") }
        let phone = app.phone(of: "Grace")
        let signIn = try await phone.users.startSignIn(at: "social", redirectURL: redirect)
        // Submits the form of the provider's page. It redirects the browser to Martlet, and Martlet back to the app.
        let back = try await Call.follow("POST", signIn.url, form: "sub=foreign-1")
        let opened = try await Call.follow("GET", back)
        let user = try await phone.users.signIn(with: .provider(signIn, callback: opened))
        try story.check(user.email == "grace@example.org", "The provider's user is \(user.email ?? "nobody").")
        let again = try await phone.users.identities().map(\.provider)
        try story.check(again == ["social"], "Grace has the identities \(again).")
        story.says("Grace signs in with her account at another provider, without a password here.")
    }
}
