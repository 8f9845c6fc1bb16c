import Foundation
import MartletAPI
import Testing

@testable import MartletCore

@Suite struct Base64URLTests {
    /// RFC 4648 §10, in the alphabet of §5, without padding.
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"),
        ("\u{3fb}\u{3ff}", "z7vPvw"), ("~~~???>>>", "fn5-Pz8_Pj4-"),
    ]) func `bytes are encoded as text and decoded again`(_ bytes: String, _ text: String) {
        #expect(Base64URL.encode(bytes.utf8) == text)
        #expect(Base64URL.decode(text) == Data(bytes.utf8))
    }

    @Test func `every byte survives a round trip`() {
        let bytes = (0...255).map { UInt8($0) }
        #expect(Base64URL.decode(Base64URL.encode(bytes)) == Data(bytes))
    }

    @Test(arguments: ["Z", "Zg==", "Zm9v=", "Zm+v", "Zm/v", "Zm 9v", "Zm9v\n", "Zmü", "Zm9vZ", "%3D"])
    func `invalid text is refused`(_ text: String) {
        #expect(Base64URL.decode(text) == nil)
    }
}

@Suite struct UUIDv7Tests {
    @Test func `version, variant and time are where RFC 9562 puts them`() throws {
        let text = UUIDv7.make(at: Date(timeIntervalSince1970: 1_645_557_742))
        // The time of the example in appendix A.6.
        #expect(text.hasPrefix("017f22e2-79b0-7"))
        #expect(text.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
        #expect(UUID(uuidString: text) != nil)
    }

    @Test func `ids of a later millisecond sort later`() {
        let times = (0..<1_000).map { Date(timeIntervalSince1970: 1_700_000_000 + Double($0) * 0.001 + 0.0005) }
        let ids = times.map { UUIDv7.make(at: $0) }
        #expect(ids == ids.sorted())
        #expect(Set(ids.map { $0.prefix(13) }).count == 1_000)
    }

    @Test func `ids of one millisecond differ in every random digit`() {
        let ids = (0..<2_000).map { _ in UUIDv7.make(at: Date(timeIntervalSince1970: 1)) }
        #expect(Set(ids).count == 2_000)
        for position in [15, 16, 17, 20, 21, 22] + Array(24..<36) {
            #expect(Set(ids.map { Array($0)[position] }).count == 16, "digit \(position)")
        }
        #expect(Set(ids.map { Array($0)[19] }) == ["8", "9", "a", "b"])
    }

    @Test func `a time before 1970 counts as 1970`() {
        #expect(UUIDv7.make(at: .distantPast).hasPrefix("00000000-0000-7"))
    }
}

@Suite struct SecretTests {
    @Test func `every textual form of a secret is redacted`() {
        struct Holder { let secret: Secret? }
        let secret = Secret("hunter2")
        var dumped = ""
        dump([Holder(secret: secret)], to: &dumped)
        let texts = [
            "\(secret)", String(reflecting: secret), "\([secret])", "\(Holder(secret: secret))", "\(["k": secret])",
            dumped,
            "\(Mirror(reflecting: secret).children.map(\.value))", String(describing: Optional(secret)),
        ]
        #expect(texts.allSatisfy { !$0.contains("hunter2") }, "\(texts)")
        #expect("\(secret)" == "<redacted>")
        #expect(secret.withValue { $0 } == "hunter2")
    }

    @Test func `random secrets have 256 bits and differ`() {
        let secrets = (0..<100).map { _ in Secret.random().withValue { $0 } }
        #expect(Set(secrets).count == 100)
        #expect(secrets.allSatisfy { Base64URL.decode($0)?.count == 32 })
    }

    @Test func `a secret says whether it is empty without being shown`() {
        #expect(Secret("").isEmpty)
        #expect(!Secret("x").isEmpty)
    }
}

@Suite struct CredentialTests {
    @Test(arguments: [
        (CredentialKind.client, AppEnvironment.live as AppEnvironment?, "mk_live_"), (.client, .test, "mk_test_"),
        (.secret, nil, "ms_"),
        (.ingest, .live, "mi_live_"), (.evaluation, .test, "me_test_"), (.master, nil, "mm_"),
    ]) func `a credential has its kind and environment, then 256 random bits`(
        _ kind: CredentialKind, _ environment: AppEnvironment?, _ prefix: String
    ) {
        let (one, two) = (
            Credential.make(kind, environment: environment), Credential.make(kind, environment: environment)
        )
        let text = one.withValue { $0 }
        #expect(text.hasPrefix(prefix))
        #expect(Base64URL.decode(text.dropFirst(prefix.count))?.count == 32)
        #expect(two.withValue { $0 } != text)
    }

    /// FIPS 180-2, appendix B.
    @Test(arguments: [
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ]) func `the digest is SHA-256 in lower-case hexadecimal`(_ text: String, _ digest: String) {
        #expect(Credential.hexDigest(of: text) == digest)
        #expect(Credential.hexDigest(of: Substring(text)) == digest)
    }
}
