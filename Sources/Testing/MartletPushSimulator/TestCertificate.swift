/// A certificate for `localhost` and 127.0.0.1, valid until 2126, that only configured clients trust. Its key is no
/// secret.
public enum TestCertificate {
    public static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIB0jCCAXigAwIBAgIUeuJWVICHxFYMELFkiTpfMxiGI5wwCgYIKoZIzj0EAwIw
        JDEiMCAGA1UEAwwZTWFydGxldCB0ZXN0IHB1c2ggc2VydmljZTAgFw0yNjExMjIw
        OTQzMzRaGA8yMTI2MTAyOTA5NDMzNFowJDEiMCAGA1UEAwwZTWFydGxldCB0ZXN0
        IHB1c2ggc2VydmljZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABArFX2BLOoXY
        oOJrWHNNtskE3ymE5rul4kyp4Njv+JK9xyaYWdcaavB2qag/KADc7Vc90jeOcyMR
        1yxXFGfpYxKjgYUwgYIwHQYDVR0OBBYEFNZfmdiesl4SAjSvMp8W+kzXIJNLMB8G
        A1UdIwQYMBaAFNZfmdiesl4SAjSvMp8W+kzXIJNLMA8GA1UdEwEB/wQFMAMBAf8w
        GgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMBMGA1UdJQQMMAoGCCsGAQUFBwMB
        MAoGCCqGSM49BAMCA0gAMEUCIQCFMzZMneqsqeD0/qzyIywZp5ZhKgr9fNwh1tOq
        E7itYAIgHHl5BQ/T7PSqB9kuFm1j+mgYoOjdfhXqcuBf8SF7lD0=
        -----END CERTIFICATE-----
        """

    public static let privateKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgacXNI102rabp/Hzo
        yQJNWhkMEFzBVWB1Epm0bEIApzOhRANCAAQKxV9gSzqF2KDia1hzTbbJBN8phOa7
        peJMqeDY7/iSvccmmFnXGmrwdqmoPygA3O1XPdI3jnMjEdcsVxRn6WMS
        -----END PRIVATE KEY-----
        """
}
