/// The most common leaked passwords of at least eight characters, in lower case.
enum CommonPasswords {
    static let all: Set<Substring> = Set(
        """
        password passwort password1 password12 password123 password1234 passw0rd p@ssword p@ssw0rd p4ssw0rd pa55word pa55w0rd \
        passpass mypassword newpassword thepassword password! password1! password123! password2 password3 password01 12345678 123456789 \
        1234567890 12345678910 0123456789 987654321 9876543210 87654321 123123123 12341234 11111111 00000000 88888888 11223344 12344321 \
        123321123 123454321 147258369 159753456 123456780 1234567a 123456aa 123456abc 12345678a a1234567 a12345678 a123456789 abc12345 \
        abcd1234 abcdefgh abcdefg1 abcdefghi abcdefghij abc123456 aaaaaaaa aa123456 aa12345678 qwertyui qwertyuiop qwertyuiop123 \
        qwerty12 qwerty123 qwerty1234 qwerty12345 qwerty123456 qwertz123 qwertzui qwertzuiop azerty123 azertyuiop asdfghjk asdfghjkl \
        asdfasdf asdf1234 zxcvbnm1 zxcvbnm123 zxcvbnm, 1q2w3e4r 1q2w3e4r5t 1q2w3e4r5t6y 1qaz2wsx 1qazxsw2 zaq12wsx zaq1zaq1 qazwsxedc \
        q1w2e3r4 q1w2e3r4t5 qweasdzxc qwe12345 1234qwer qwer1234 iloveyou iloveyou1 iloveyou2 iloveyou! iloveme1 ilovegod lovelove \
        loveyou1 sunshine sunshine1 princess princess1 football football1 baseball baseball1 basketball superman superman1 batman123 \
        spiderman starwars starwars1 pokemon1 pokemon123 minecraft fortnite michael1 jennifer jessica1 jonathan alexander charlie1 \
        michelle danielle nicole12 samantha victoria elizabeth trustno1 letmein1 letmein! letmein123 welcome1 welcome123 welcome! \
        welcome2 admin123 admin1234 admin12345 administrator adminadmin administrator1 rootroot root1234 toor1234 guest123 test1234 \
        test12345 testtest testing1 testing123 changeme changeme1 changeme123 default1 secret123 topsecret whatever computer computer1 \
        internet internet1 samsung1 google123 facebook facebook1 linkedin dropbox1 martlet1 martlet123 monkey12 monkey123 dragon12 \
        dragon123 master12 master123 shadow12 shadow123 killer123 summer2024 summer2025 summer2026 winter2024 winter2025 winter2026 \
        spring2024 spring2025 spring2026 autumn2024 autumn2025 autumn2026 hallo123 hallo1234 schatz123 passwort1 passwort123 geheim123 \
        motdepasse contrasena contraseña senha123 senha1234 parola123 haslo123 wachtwoord fuckyou1 fuckyou2 asshole1 bitch123 hello123 \
        hello1234 helloworld blink182 liverpool chelsea1 arsenal1 manchester barcelona realmadrid juventus mercedes ferrari1 porsche1 \
        corvette mustang1 harley12 yankees1 cowboys1 lakers24 jordan23 maverick midnight butterfly chocolate sweetheart christmas \
        happyday goodluck blessed1 jesuschrist freedom1 america1 australia deutschland germany1 england1 california newyork1 london123
        """.split(whereSeparator: \.isWhitespace).filter { $0.count >= PasswordPolicy.minimumLength })
}
