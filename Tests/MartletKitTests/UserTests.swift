import Foundation
import Testing

@testable import MartletKit

struct SHA256Tests {
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            String(repeating: "a", count: 1_000),
            "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"
        ),
    ])
    func `digests are those of the standard`(text: String, digest: String) {
        #expect(SHA256Digest.hexadecimal(Data(text.utf8)) == digest)
        #expect(SHA256Digest.portable(Array(text.utf8)) == Array(SHA256Digest.of(Data(text.utf8))))
    }
}

/// These tests run against a real server.
struct UserTests {
    let martlet: Martlet
    let name = TestServer.name("ada").lowercased()
    static let password = "correct horse battery"

    init() async throws { martlet = try await TestServer.device { $0.deviceName = "phone" } }

    @discardableResult
    private func signUp() async throws -> User {
        let outcome = try await martlet.users.signUp(
            userName: name, email: "\(name)@example.org", password: Self.password, profile: ["city": "London"],
            private: ["language": "de"])
        guard case .signedIn(let user) = outcome else { throw MartletError(.signInFailed, "\(outcome)") }
        return user
    }

    @Test func `a call for which there is no method is made as the signed-in user`() async throws {
        let user = try await signUp()
        let role = "\(name) team"
        let members: JSON = [.string(user.id)]
        try await TestServer.manage("PUT", "roles/\(name)%20team", ["add": members, "managers": members])
        let group = try await martlet.call("GET", "roles/" + role, query: ["limit": "1"])
        #expect(group["name"] == .string(role))
        try await martlet.call("POST", "feedback", ["message": "It froze"])
    }

    @Test func `a user signs up, changes the account, signs out and in again`() async throws {
        let user = try await signUp()
        #expect(user.userName == name && user.profile["city"] == "London" && !user.isAnonymous)
        #expect(try await martlet.users.current == user)
        let changed = try await martlet.users.update(profile: ["city": "Bern"])
        #expect(changed.profile["city"] == "Bern" && changed.private["language"] == "de")
        #expect(try await martlet.users.current?.profile["city"] == "Bern")
        let seen = try #require(try await TestServer.device().users.user(id: user.id))
        #expect(seen.profile["city"] == "Bern" && seen.private == [:])
        #expect(try await martlet.users.user(id: UUID().uuidString.lowercased()) == nil)

        try await martlet.users.signOut()
        #expect(try await martlet.users.current == nil)
        await #expect { try await martlet.users.refresh() } throws: { ($0 as? MartletError)?.code == .notSignedIn }
        await #expect { try await martlet.users.signIn(with: .password("wrong", userName: name)) } throws: {
            ($0 as? MartletError)?.code == .signInFailed
        }
        #expect(
            try await martlet.users.signIn(with: .password(Self.password, email: "\(name)@example.org")).id == user.id)
        #expect(try await martlet.users.roles() == [])
        try await martlet.users.changePassword(from: Self.password, to: "another good one")
        try await martlet.users.signIn(with: .password("another good one", userName: name))
    }

    @Test func `an anonymous user is upgraded and keeps the id and the objects`() async throws {
        struct Diary: Storable {
            static let collection = TestServer.name("KitDiary")
            var text: String
        }
        let anonymous = try await martlet.users.signInAnonymously(profile: ["n": 1])
        #expect(anonymous.isAnonymous)
        let mine: [Grantee] = [.user(anonymous)]
        let entry = try await martlet.storage.create(Diary(text: "secret"), readers: mine, writers: mine)
        #expect(try await TestServer.device().storage.get(Diary.self, id: entry.id) == nil)
        let named = try await martlet.users.upgrade(userName: name, password: Self.password)
        #expect(named.id == anonymous.id && !named.isAnonymous)
        let tablet = try await TestServer.device()
        try await tablet.users.signIn(with: .password(Self.password, userName: name))
        #expect(try await tablet.storage.get(Diary.self, id: entry.id)?.text == "secret")
    }

    @Test func `sessions are listed and ended elsewhere`() async throws {
        try await signUp()
        let tablet = try await TestServer.device { $0.deviceName = "tablet" }
        try await tablet.users.signIn(with: .password(Self.password, userName: name))
        let sessions = try await martlet.users.sessions()
        #expect(
            Set(sessions.map(\.device)) == ["phone", "tablet"] && sessions.filter(\.current).map(\.device) == ["phone"])
        var states = tablet.users.states().makeAsyncIterator()
        guard case .signedIn = await states.next() else { throw MartletError(.notSignedIn, "") }
        #expect(try await martlet.users.signOutElsewhere() == 1)
        // The gateway learns of it within two seconds; then the refused token cannot be renewed.
        try await TestServer.wait {
            _ = try? await tablet.users.refresh()
            return try await tablet.users.current == nil
        }
        #expect(await states.next() == .signedOut(.sessionEnded))
        #expect(try await martlet.users.refresh().userName == name)
    }

    @Test func `a session survives a restart of the app, and is renewed by the real server`() async throws {
        let store = MemorySessionStore()
        let first = try await TestServer.device { $0.sessionStore = store }
        let user = try await first.users.signInAnonymously()
        let second = try await TestServer.device { $0.sessionStore = store }
        #expect(try await second.users.current?.id == user.id)
        let token = try #require(store.load()?.accessToken)
        let late = try await TestServer.device {
            $0.sessionStore = store
            $0.clock.now = { Date().addingTimeInterval(895) }
        }
        #expect(try await late.users.accessToken != token)
        // The first device still has the used refresh token in memory, and finds the new session in the store.
        let old = try #require(try await first.session.current())
        try await first.session.renew(old, by: first.api)
        #expect(try await first.users.refresh().id == user.id)
    }

    @Test func `a second factor is required, and can be replaced by a recovery code`() async throws {
        try await signUp()
        let setup = try await martlet.users.secondFactor.begin(password: Self.password)
        #expect(setup.uri.hasPrefix("otpauth://") && setup.uri.contains(setup.secret))
        await #expect { try await martlet.users.secondFactor.confirm(code: "000000") } throws: {
            ($0 as? MartletError)?.code == .signInFailed
        }
        let recovery = try await martlet.users.secondFactor.confirm(code: TOTP.code(setup.secret))
        #expect(recovery.count == 10)
        #expect(try await martlet.users.current?.hasSecondFactor == true)
        let tablet = try await TestServer.device()
        await #expect { try await tablet.users.signIn(with: .password(Self.password, userName: name)) } throws: {
            ($0 as? MartletError)?.code == .secondFactorRequired
        }
        try await tablet.users.signIn(with: .password(Self.password, userName: name), secondFactor: recovery[0])
        try await tablet.users.secondFactor.remove(password: Self.password, code: recovery[1])
        #expect(try await tablet.users.current?.hasSecondFactor == false)
    }

    @Test func `an account is exported and deleted`() async throws {
        try await signUp()
        try await martlet.users.startExport()
        try await TestServer.wait { try await martlet.users.export()?.state == .done }
        let content = String(decoding: try await martlet.users.exportContent(), as: UTF8.self)
        #expect(content.contains(name))
        await #expect { try await martlet.users.deleteAccount(password: "wrong") } throws: {
            ($0 as? MartletError)?.code == .signInFailed
        }
        let receipt = try await martlet.users.deleteAccount(password: Self.password)
        #expect(try await martlet.users.current == nil)
        _ = try await martlet.users.deletion(receipt)
        await #expect { try await martlet.users.signIn(with: .password(Self.password, userName: name)) } throws: {
            ($0 as? MartletError)?.code == .signInFailed
        }
    }

    @Test func `signing out works without a connection`() async throws {
        let store = MemorySessionStore()
        let transport = ScriptedTransport { _, _ in throw MartletError(.notConnected, "") }
        store.save(try SessionTests.session(1))
        let offline = try Martlet.scripted(transport, sessions: store)
        try await offline.users.signOut()
        #expect(store.load() == nil)
    }

    @Test func `a provider's answer must belong to the sign-in`() async throws {
        let transport = ScriptedTransport { _, _ in
            HTTPResponse(200, ["url": "https://provider.test/authorize", "state": "s1"])
        }
        let scripted = try Martlet.scripted(transport)
        let redirect = try #require(URL(string: "org.example:/back"))
        let start = try await scripted.users.startSignIn(at: "github", redirectURL: redirect)
        let sent = try JSON(parsing: #require(transport.sent.first?.body))
        #expect(sent["codeChallenge"]?.stringValue == SHA256Digest.of(Data(start.verifier.utf8)).base64URL)
        let good = try Credential.provider(
            start, callback: #require(URL(string: "org.example:/back?code=c%201&state=s1")))
        #expect(good.body == ["code": "c 1", "codeVerifier": .string(start.verifier)])
        for bad in ["org.example:/back?code=c&state=s2", "org.example:/back?error=access_denied&state=s1"] {
            let url = try #require(URL(string: bad))
            #expect { try Credential.provider(start, callback: url) } throws: {
                ($0 as? MartletError)?.code == .signInFailed
            }
        }
    }

    @Test func `without a mail server the calls say so, and passkeys need settings`() async throws {
        await #expect { try await martlet.users.sendSignInMail(to: "a@example.org") } throws: {
            ($0 as? MartletError)?.code == .notImplemented
        }
        await #expect { try await martlet.users.passkeys.signInOptions() } throws: {
            ($0 as? MartletError)?.isNotFound == true
        }
        await #expect {
            try await martlet.users.signIn(with: .idToken("x.y.z", provider: "apple", nonce: Nonce()))
        } throws: { ($0 as? MartletError)?.status.map { $0 >= 400 && $0 < 500 } == true }
    }

    @Test func `a function that does not exist is an error with its code`() async throws {
        await #expect { try await martlet.functions.call("nothing", with: ["a": 1], as: Int.self) } throws: {
            ($0 as? MartletError)?.isNotFound == true
        }
    }
}
