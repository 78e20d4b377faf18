-1 'visit-0 |user city:tōkyō age:41e-2 |ad topic=books |hist:0.5 :1 :0.9097 :0.2146982
1 2 0.1 |user city:oslo age:53e-2 |ad topic=music
1 |user city:são-paulo age:54e-2 |ad topic=shoes | 18:1 102 weekend
-1 'visit-3 |user city:lima age:26e-2 |ad topic=music sale |debug id=3 host:h0
-1 |user city:tōkyō age:58e-2 |ad topic=music new
-1 2 |user city:rome age:57e-2 |ad topic=garden |hist:0.5 :4 :0.4964 :0.5317202
1 'visit-6 |user city:tōkyō age:23e-2 |ad topic=music free:0.5
1 |user city:lima age:66e-2 |ad topic=garden red:2 chance cheap
|user city:tōkyō age:66e-2 |ad topic=books | 15:1 108 weekend
1 1.25 'visit-9 |user city:lima age:64e-2 |ad topic=garden win:-1 chance new:2
-1 |user city:tōkyō age:21e-2 |ad topic=music sale chance:1.5e0 |hist:0.5 :4 :0.7682 :0.1293402 |debug id=10 host:h1
-1 |user city:rome age:45e-2 |ad topic=music new free chance
1 'visit-12 |user city:lima age:49e-2 |ad topic=garden big free new
-1 1.25 0.1 |user city:lima age:57e-2 |ad topic=books last
-1 |user city:lima age:47e-2 |ad topic=garden | 4:1 114 weekend
-1 'visit-15 |
1 |user city:oslo age:22e-2 |ad topic=books
|user city:rome age:49e-2 |ad topic=music win red |debug id=17 host:h2
-1 'visit-18 |user city:são-paulo age:31e-2 |ad topic=music cheap:0.5 chance
-1 |user city:lima age:66e-2 |ad topic=garden
1 |user city:lima age:58e-2 |ad topic=garden gift:-1 red:-1 |hist:0.5 :4 :0.6132 :0.7883993 | 20:1 120 weekend
-1 0.5 'visit-21 |user city:rome age:64e-2 |ad topic=books gift
1 |user city:oslo age:24e-2 |ad topic=shoes chance:-1 red
-1 |user city:rome age:59e-2 |ad topic=music big:2 chance
1 'visit-24 |user city:tōkyō age:68e-2 |ad topic=shoes chance:1.5e0 |debug id=24 host:h0
1 3e-1 -.25 |user city:tōkyō age:57e-2 |ad topic=shoes new:2 free gift:0.5 |hist:0.5 :8 :0.6573 :0.3504075
|user city:lima age:51e-2 |ad topic=books | 0:1 126 weekend
-1 'visit-27 |user city:rome age:36e-2 |ad topic=music sale
1 |user city:lima age:75e-2 |ad topic=books sale:-1
1 0.5 |user city:são-paulo age:73e-2 |ad topic=music gift
1 'visit-30 |user city:são-paulo age:64e-2 |ad topic=books free |hist:0.5 :2 :0.5565 :0.3259822
-1 |
-1 |user city:rome age:66e-2 |ad topic=garden | 1:1 132 weekend
-1 0.5 'visit-33 |user city:oslo age:78e-2 |ad topic=music chance gift
-1 |user city:rome age:22e-2 |ad topic=garden free last new:1.5e0
|user city:rome age:74e-2 |ad topic=garden red |hist:0.5 :3 :0.9675 :0.2195878
1 'visit-36 |user city:oslo age:39e-2 |ad topic=music free:1.5e0
1 1.25 0.1 |user city:são-paulo age:19e-2 |ad topic=books sale red
-1 |user city:são-paulo age:25e-2 |ad topic=garden | 16:1 138 weekend |debug id=38 host:h2
-1 'visit-39 |user city:rome age:26e-2 |ad topic=shoes cheap:0.5 sale
1 |user city:são-paulo age:78e-2 |ad topic=garden red new:1.5e0 cheap:-1 |hist:0.5 :1 :0.6344 :0.8016286
1 1.25 |user city:oslo age:47e-2 |ad topic=books
-1 'visit-42 |user city:oslo age:33e-2 |ad topic=garden sale
1 |user city:oslo age:29e-2 |ad topic=books
|user city:rome age:19e-2 |ad topic=garden chance:-1 gift | 20:1 144 weekend
1 2 'visit-45 |user city:tōkyō age:77e-2 |ad topic=shoes gift |hist:0.5 :8 :0.1063 :0.8189201 |debug id=45 host:h0
-1 |user city:são-paulo age:43e-2 |ad topic=music big win:0.5
-1 |
