#if !canImport(CryptoKit)
/// Checks Ed25519 signatures (RFC 8032 §5.1.7) on systems without CryptoKit. All inputs are public, so the time that a
/// check takes may depend on them.
enum Ed25519 {
    /// - Parameter signature: 64 bytes.
    static func isValid(signature: [UInt8], message: [UInt8], publicKey: [UInt8]) -> Bool {
        guard signature.count == 64, publicKey.count == 32, let key = EdwardsPoint(encoded: publicKey) else {
            return false
        }
        let s = Scalar(littleEndian: signature[32...])
        // A larger value would be a second signature of the same message.
        guard s.isBelowOrder else { return false }
        let k = Scalar(reducing: SHA512Digest.of(signature[..<32] + publicKey + message))
        return EdwardsPoint.sum(s, .base, k, key.negated).encoded == Array(signature[..<32])
    }
}

/// An integer of 256 bits.
private struct Scalar {
    private var words: [UInt64]

    /// The order of the base point.
    private static let order: [UInt64] = [
        0x5812_631a_5cf5_d3ed, 0x14de_f9de_a2f7_9cd6, 0x0000_0000_0000_0000, 0x1000_0000_0000_0000,
    ]

    init(littleEndian bytes: ArraySlice<UInt8>) {
        let all = Array(bytes)
        words = (0..<4).map { word in (0..<8).reduce(0) { $0 | UInt64(all[word * 8 + $1]) << (8 * UInt64($1)) } }
    }

    /// The remainder of a longer number, little-endian, by the order of the base point.
    init(reducing bytes: [UInt8]) {
        words = [0, 0, 0, 0]
        for byte in bytes.reversed() {
            for bit in (0..<8).reversed() {
                double(adding: UInt64(byte >> UInt8(bit)) & 1)
                if !isBelowOrder { subtractOrder() }
            }
        }
    }

    var isBelowOrder: Bool {
        for index in (0..<4).reversed() where words[index] != Self.order[index] {
            return words[index] < Self.order[index]
        }
        return false
    }

    func bit(_ index: Int) -> Bool { words[index / 64] >> UInt64(index % 64) & 1 == 1 }

    private mutating func double(adding bit: UInt64) {
        var carry = bit
        for index in 0..<4 {
            let high = words[index] >> 63
            words[index] = words[index] << 1 | carry
            carry = high
        }
    }

    private mutating func subtractOrder() {
        var borrow: UInt64 = 0
        for index in 0..<4 {
            let (first, didBorrow) = words[index].subtractingReportingOverflow(Self.order[index])
            let (second, didBorrowAgain) = first.subtractingReportingOverflow(borrow)
            words[index] = second
            borrow = didBorrow || didBorrowAgain ? 1 : 0
        }
    }
}

/// A point of the curve in extended coordinates (RFC 8032 §5.1.4).
private struct EdwardsPoint {
    private var x, y, z, t: CurveNumber

    private static let identity = EdwardsPoint(x: .zero, y: .one)
    static let base = EdwardsPoint(
        x: CurveNumber(
            0x0006_2d60_8f25_d51a, 0x0004_12a4_b4f6_592a, 0x0007_5b71_71a4_b31d, 0x0001_ff60_5271_18fe,
            0x0002_1693_6d3c_d6e5),
        y: CurveNumber(
            0x0006_6666_6666_6658, 0x0004_cccc_cccc_cccc, 0x0001_9999_9999_9999, 0x0003_3333_3333_3333,
            0x0006_6666_6666_6666))

    private init(x: CurveNumber, y: CurveNumber) {
        (self.x, self.y, z, t) = (x, y, .one, x * y)
    }

    /// Nil if the bytes are not the canonical encoding of a point.
    init?(encoded bytes: [UInt8]) {
        var bytes = bytes
        let isOdd = bytes[31] & 0x80 != 0
        bytes[31] &= 0x7f
        let y = CurveNumber(bytes)
        guard y.bytes == bytes else { return nil }
        let (u, v) = (y * y - .one, y * y * CurveNumber.curve + .one)
        let v3 = v * v * v
        var x = u * v3 * (u * v3 * v3 * v).raisedToPMinus5Over8
        if (v * x * x).bytes != u.bytes {
            x = x * CurveNumber.rootOfMinusOne
            guard (v * x * x).bytes == u.bytes else { return nil }
        }
        if x.isOdd != isOdd {
            // The negative of zero is zero, which is not odd.
            guard x.bytes != CurveNumber.zero.bytes else { return nil }
            x = .zero - x
        }
        self.init(x: x, y: y)
    }

    var encoded: [UInt8] {
        let inverse = z.inverse
        var bytes = (y * inverse).bytes
        if (x * inverse).isOdd { bytes[31] |= 0x80 }
        return bytes
    }

    var negated: EdwardsPoint {
        var point = self
        point.x = .zero - x
        point.t = .zero - t
        return point
    }

    /// The formula is complete: it is also correct for doubling.
    static func + (one: EdwardsPoint, two: EdwardsPoint) -> EdwardsPoint {
        let a = (one.y - one.x) * (two.y - two.x)
        let b = (one.y + one.x) * (two.y + two.x)
        let c = one.t * two.t * CurveNumber.curve
        let d = one.z * two.z
        let (e, f, g, h) = (b - a, d + d - (c + c), d + d + (c + c), b + a)
        var sum = identity
        (sum.x, sum.y, sum.z, sum.t) = (e * f, g * h, f * g, e * h)
        return sum
    }

    /// `a`·`one` + `b`·`two`
    static func sum(_ a: Scalar, _ one: EdwardsPoint, _ b: Scalar, _ two: EdwardsPoint) -> EdwardsPoint {
        let both = one + two
        var sum = identity
        for bit in (0..<256).reversed() {
            sum = sum + sum
            switch (a.bit(bit), b.bit(bit)) {
            case (true, true): sum = sum + both
            case (true, false): sum = sum + one
            case (false, true): sum = sum + two
            case (false, false): break
            }
        }
        return sum
    }
}

/// A number modulo 2^255 - 19, in five limbs of 51 bits, each of which may be slightly larger.
private struct CurveNumber {
    private var a, b, c, d, e: UInt64

    static let zero = CurveNumber(0, 0, 0, 0, 0)
    static let one = CurveNumber(1, 0, 0, 0, 0)
    /// The curve's d, -121665/121666.
    static let curve = CurveNumber(
        0x0003_4dca_1359_78a3, 0x0001_a828_3b15_6ebd, 0x0005_e7a2_6001_c029, 0x0007_39c6_63a0_3cbb,
        0x0005_2036_cee2_b6ff)
    static let rootOfMinusOne = CurveNumber(
        0x0006_1b27_4a0e_a0b0, 0x0000_d5a5_fc8f_189d, 0x0007_ef5e_9cbd_0c60, 0x0007_8595_a680_4c9e,
        0x0002_b832_4804_fc1d)

    private static let mask: UInt64 = (1 << 51) - 1

    init(_ a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64, _ e: UInt64) {
        (self.a, self.b, self.c, self.d, self.e) = (a, b, c, d, e)
    }

    /// 255 bits, little-endian.
    init(_ bytes: [UInt8]) {
        func limb(_ start: Int) -> UInt64 {
            var value: UInt64 = 0
            for (index, byte) in bytes[(start / 8)..<min(start / 8 + 8, 32)].enumerated() {
                value |= UInt64(byte) << UInt64(8 * index)
            }
            return value >> UInt64(start % 8) & Self.mask
        }
        self.init(limb(0), limb(51), limb(102), limb(153), limb(204))
    }

    /// The canonical representation below 2^255 - 19, little-endian.
    var bytes: [UInt8] {
        var value = carried.carried
        // Adding 19 carries out of the last limb if the value is too large.
        var carry: UInt64 = 19
        for limb in [value.a, value.b, value.c, value.d, value.e] { carry = (limb + carry) >> 51 }
        value.a += 19 * carry
        var bytes: [UInt8] = []
        var (bits, count): (UInt128, Int) = (0, 0)
        for limb in value.limbsBelow255Bits {
            bits |= UInt128(limb) << UInt128(count)
            count += 51
            while count >= 8 {
                bytes.append(UInt8(truncatingIfNeeded: bits))
                bits >>= 8
                count -= 8
            }
        }
        return bytes + [UInt8(truncatingIfNeeded: bits)]
    }

    private var limbsBelow255Bits: [UInt64] {
        var carry: UInt64 = 0
        return [a, b, c, d, e].map { limb in
            let sum = limb + carry
            carry = sum >> 51
            return sum & Self.mask
        }
    }

    var isOdd: Bool { bytes[0] & 1 == 1 }

    private var carried: CurveNumber {
        var next = self
        next.b += next.a >> 51
        next.a &= Self.mask
        next.c += next.b >> 51
        next.b &= Self.mask
        next.d += next.c >> 51
        next.c &= Self.mask
        next.e += next.d >> 51
        next.d &= Self.mask
        next.a += 19 * (next.e >> 51)
        next.e &= Self.mask
        return next
    }

    static func + (one: CurveNumber, two: CurveNumber) -> CurveNumber {
        CurveNumber(one.a + two.a, one.b + two.b, one.c + two.c, one.d + two.d, one.e + two.e).carried
    }

    /// Four times the modulus keeps every limb positive.
    static func - (one: CurveNumber, two: CurveNumber) -> CurveNumber {
        let (low, high): (UInt64, UInt64) = ((1 << 53) - 76, (1 << 53) - 4)
        return CurveNumber(
            one.a + low - two.a, one.b + high - two.b, one.c + high - two.c, one.d + high - two.d,
            one.e + high - two.e
        ).carried
    }

    static func * (one: CurveNumber, two: CurveNumber) -> CurveNumber {
        func product(_ x: UInt64, _ y: UInt64) -> UInt128 { UInt128(x) * UInt128(y) }
        // 2^255 equals 19: the carry out of the last limb is added to the first, times 19.
        let (b19, c19, d19, e19) = (two.b * 19, two.c * 19, two.d * 19, two.e * 19)
        var a = product(one.a, two.a) + product(one.b, e19) + product(one.c, d19)
        a += product(one.d, c19) + product(one.e, b19)
        var b = product(one.a, two.b) + product(one.b, two.a) + product(one.c, e19)
        b += product(one.d, d19) + product(one.e, c19) + (a >> 51)
        var c = product(one.a, two.c) + product(one.b, two.b) + product(one.c, two.a)
        c += product(one.d, e19) + product(one.e, d19) + (b >> 51)
        var d = product(one.a, two.d) + product(one.b, two.c) + product(one.c, two.b)
        d += product(one.d, two.a) + product(one.e, e19) + (c >> 51)
        var e = product(one.a, two.e) + product(one.b, two.d) + product(one.c, two.c)
        e += product(one.d, two.b) + product(one.e, two.a) + (d >> 51)
        func low(_ value: UInt128) -> UInt64 { UInt64(truncatingIfNeeded: value) & mask }
        return CurveNumber(low(a) + 19 * UInt64(e >> 51), low(b), low(c), low(d), low(e)).carried
    }

    /// The number to the power of p - 2.
    var inverse: CurveNumber { raised(bits: 255, zeros: [2, 4]) }

    /// The number to the power of (p - 5)/8, which is 2^252 - 3.
    var raisedToPMinus5Over8: CurveNumber { raised(bits: 252, zeros: [1]) }

    /// The number to a power whose bits are all set except these.
    private func raised(bits: Int, zeros: Set<Int>) -> CurveNumber {
        var result = CurveNumber.one
        for bit in (0..<bits).reversed() {
            result = result * result
            if !zeros.contains(bit) { result = result * self }
        }
        return result
    }
}
#endif
